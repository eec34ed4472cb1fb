//! View of a scene.

use super::super::error::exact;
use super::super::format::{self, SceneFile};
use super::check::{Check, list, vector};
use crate::model::view::{BACKGROUND, CLIP, SceneView, WallLook, colour};

impl Check {
    pub(super) fn view(&mut self, file: &SceneFile) -> SceneView {
        let view = &file.view;
        let up = view.up.as_ref();
        let up = up.and_then(|up| self.direction("view.up", up, "a direction"));
        for (field, point) in [("eye", &view.eye), ("target", &view.target)] {
            if let Some(point) = point {
                self.vector(format_args!("view.{field}"), point, "a coordinate, m");
            }
        }
        if let (Some(eye), Some(target)) = (&view.eye, &view.target)
            && eye == target
        {
            self.problem(
                "view.eye",
                list(&eye.0),
                "another point than \"target\", at which the camera looks",
            );
        }
        if let Some(format::List([around, above, zoom])) = view.camera {
            let is_right =
                around.abs() < 1e9 && above.abs() <= 88.0 && (1e-3..=1e3).contains(&zoom);
            if !is_right {
                self.problem(
                    "view.camera",
                    list(&[around, above, zoom]),
                    "two angles, in degrees, the second from -88 to 88, and a zoom from 0.001 to 1000",
                );
            }
        }
        if let Some(format::List([bottom, top])) = view.range {
            let is_right = bottom < top && bottom.abs().max(top.abs()) <= f64::from(f32::MAX);
            if !is_right {
                self.problem(
                    "view.range",
                    list(&[bottom, top]),
                    "two numbers, the second larger than the first",
                );
            }
        }
        let clip = view.clip.as_ref().and_then(|text| {
            let clip = text.parse();
            if clip.is_err() {
                self.problem("view.clip", format!("{text:?}"), CLIP);
            }
            clip.ok()
        });
        let background = view.background.as_ref().and_then(|text| {
            let background = text.parse();
            if background.is_err() {
                self.problem("view.background", format!("{text:?}"), BACKGROUND);
            }
            background.ok()
        });
        let planes = file.planes.iter().enumerate().map(|(index, plane)| {
            let format::Plane {
                visible,
                opacity,
                colour,
                ..
            } = plane;
            (format!("planes[{index}]"), visible, opacity, colour)
        });
        let walls = file.walls.iter().enumerate().map(|(index, wall)| {
            let format::Wall {
                visible,
                opacity,
                colour,
                ..
            } = wall;
            (format!("walls[{index}]"), visible, opacity, colour)
        });
        let looks = planes.chain(walls).map(|(path, visible, opacity, text)| {
            if let Some(opacity) = opacity.filter(|opacity| !(0.0..=1.0).contains(opacity)) {
                self.problem(
                    format_args!("{path}.opacity"),
                    exact(opacity),
                    "a number from 0 to 1",
                );
            }
            let colour = text.as_ref().and_then(|text| {
                let colour = colour(text);
                if colour.is_none() {
                    self.problem(
                        format_args!("{path}.colour"),
                        format!("{text:?}"),
                        "a colour such as \"#c08040\": two hexadecimal digits each for red, green and blue",
                    );
                }
                colour
            });
            WallLook {
                visible: visible.unwrap_or(true),
                opacity: *opacity,
                colour,
            }
        });
        let walls = looks.collect();
        let vector = |given: &Option<format::Vector>| given.as_ref().map(vector);
        SceneView {
            up,
            camera: view.camera.map(|camera| camera.0),
            eye: vector(&view.eye),
            target: vector(&view.target),
            colour: view.colour,
            range: view.range.map(|range| range.0),
            map: view.map,
            clip,
            background,
            ground: view.ground,
            lines: view.lines,
            walls,
        }
    }
}
