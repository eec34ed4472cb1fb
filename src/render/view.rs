//! The parameters of a picture in the shaders.

use glam::{DVec3, IVec3, Vec2, Vec3, Vec4};

use super::camera::{Bounds, Camera, turn};
use super::colour::{linear, round_up};
use super::{Look, Surroundings};
use crate::math::wgsl::shared_structs;
use crate::model::view::{Background, Ground};

shared_structs! {
    /// Parameters of a picture in its shaders. Places are relative to the camera, along the axes of the world.
    #[doc(hidden)]
    #[derive(Clone, Copy, Debug, PartialEq, encase::ShaderType)]
    pub struct View {
        /// Cell of the camera.
        pub camera_cell: IVec3,
        /// Distance of the nearest thing that is drawn, m. A thing at the distance z in front has the depth near / z.
        pub near: f32,
        /// Position of the camera in its cell, m.
        pub camera_offset: Vec3,
        /// Samples of a pixel along each side; 0 if the picture has fewer samples than pixels.
        pub supersampling: u32,
        /// Unit vector along the camera's line of sight.
        pub forward: Vec3,
        /// Index of the body that is picked; an index beyond all bodies if none is.
        pub picked: u32,
        /// Vector from the middle of the picture to its right edge, in a plane at the distance 1 from the camera.
        pub right: Vec3,
        /// The value of the first colour of the map.
        pub bottom: f32,
        /// Vector from the middle of the picture to its upper edge, in the same plane.
        pub up: Vec3,
        /// The value of the last colour of the map.
        pub top: f32,
        /// Unit vector towards the light.
        pub to_light: Vec3,
        /// Half the side of the box that the shadow map shows, m.
        pub shadow_radius: f32,
        /// Unit vector to the right in the shadow map.
        pub light_right: Vec3,
        /// Half the depth of the box that the shadow map shows, m.
        pub shadow_depth: f32,
        /// Unit vector that points up in the shadow map.
        pub light_up: Vec3,
        /// Distance within which surfaces shade each other from ambient light, m.
        pub occlusion_radius: f32,
        /// Centre of the box that the shadow map shows, m.
        pub shadow_center: Vec3,
        /// Side of a square of the pattern on planes, m; 0 for no pattern.
        pub tile: f32,
        /// Corner with the smallest coordinates of the box around all bodies and all walls that have an end, m.
        pub box_min: Vec3,
        /// Half the diagonal of that box, m.
        pub scene_radius: f32,
        /// Corner of that box with the largest coordinates, m.
        pub box_max: Vec3,
        /// Width of a line, pixels.
        pub line_width: f32,
        /// Size of the picture, in samples.
        pub size: Vec2,
        /// Simulated time, s.
        pub time: f32,
        /// Radius below which a ball is drawn in place of a clump, over its distance from the camera; 0 to draw all clumps.
        pub stand_in: f32,
        /// Factor from the cubed radius of a sphere to its weight in a survey, 1/m³.
        pub survey_weight: f32,
        /// Number of samples of the ambient light around each point; with 0 the ambient light is the same everywhere.
        pub occlusion_samples: u32,
        /// The number of spheres of which a survey looks at one.
        pub survey_stride: u32,
        /// Unit vector that points up.
        pub zenith: Vec3,
        /// The middle of the bulk of the bodies, m.
        pub bodies_center: Vec3,
        /// Corner with the smallest coordinates of the box that held all bodies at the last survey, m.
        pub bodies_min: Vec3,
        /// The sides of that box, m.
        pub bodies_size: Vec3,
        /// Clipping plane: a unit vector towards the part that is cut away, and the distance along it to the plane, m.
        pub clip: Vec4,
        /// Background: linear red, green and blue, each times the opacity, and the opacity; an opacity below 0 means a sky.
        pub background: Vec4,
    }
}

/// Direction towards the sun if y is up; of any length.
const TO_LIGHT: DVec3 = DVec3::new(0.35, 0.85, 0.4);

/// Largest half side of the shadow map's box, over the distance from the camera to its target.
const SHADOW_REACH: f64 = 2.0;

/// Largest diameter of a ball that is drawn in place of a clump, samples.
const STAND_IN: f64 = 4.0;

impl View {
    /// The parameters of a picture of `size` samples, with a shadow map of `shadow_size` texels along each side.
    pub(super) fn new(
        camera: &Camera,
        look: &Look,
        surroundings: &Surroundings,
        size: [u32; 2],
        shadow_size: u32,
    ) -> View {
        let Surroundings {
            bounds,
            body_radius,
            cell_size,
            origin,
            span: [bottom, top],
            time,
            bodies,
            bulk,
            survey_weight,
            survey_stride,
        } = *surroundings;
        let eye = camera.eye();
        let cells = ((eye - origin) / cell_size).floor();
        let camera_offset = (eye - origin) - cells * cell_size;
        let seen_from = |place: DVec3| (place - eye).as_vec3();
        let axes = camera.axes();
        let slope = camera.slope();
        let [width, height] = size.map(f64::from);
        let shadow = Shadow::new(camera, bounds, shadow_size);
        let clip = match look.clip.map(|clip| clip.plane(eye)) {
            Some((normal, at)) => normal.as_vec3().extend((at - normal.dot(eye)) as f32),
            None => Vec4::new(0.0, 0.0, 0.0, 1e30),
        };
        View {
            camera_cell: cells.as_ivec3(),
            // Reversed depths lose no precision to a near plane that is so close.
            near: (1e-3 * bounds.radius().min(camera.distance)).max(1e-6) as f32,
            camera_offset: camera_offset.as_vec3(),
            supersampling: if look.is_blurred() {
                0
            } else {
                look.supersampling
            },
            occlusion_samples: look.occlusion_samples,
            survey_stride,
            forward: axes.forward.as_vec3(),
            picked: look.picked.unwrap_or(u32::MAX),
            right: (slope * width / height * axes.right).as_vec3(),
            bottom,
            up: (slope * axes.up).as_vec3(),
            top,
            to_light: shadow.to_light.as_vec3(),
            shadow_radius: shadow.radius as f32,
            light_right: shadow.right.as_vec3(),
            shadow_depth: shadow.depth as f32,
            light_up: shadow.up.as_vec3(),
            occlusion_radius: (2.5 * body_radius) as f32,
            shadow_center: seen_from(shadow.center),
            tile: match look.ground {
                Ground::Tiles => tile(bounds) as f32,
                Ground::Plain | Ground::None => 0.0,
            },
            box_min: seen_from(bounds.min),
            scene_radius: bounds.radius() as f32,
            box_max: seen_from(bounds.max),
            line_width: look.line_width,
            size: Vec2::new(width as f32, height as f32),
            time,
            stand_in: match look.hides && look.is_blurred() {
                true => (STAND_IN * slope / height) as f32,
                false => 0.0,
            },
            survey_weight,
            zenith: camera.zenith.as_vec3(),
            bodies_center: seen_from(bulk.center()),
            bodies_min: seen_from(bodies.min),
            bodies_size: (bodies.max - bodies.min).as_vec3().max(Vec3::splat(1e-12)),
            clip,
            background: match look.background {
                Background::Sky => -Vec4::W,
                Background::Transparent => Vec4::ZERO,
                Background::Colour(colour) => Vec3::from(colour.map(linear)).extend(1.0),
            },
        }
    }
}

/// Side of a square of the pattern on planes, m: 1, 2 or 5 times a power of ten.
#[doc(hidden)]
pub fn tile(bounds: Bounds) -> f64 {
    f64::from(round_up(0.15 * bounds.radius() as f32))
}

/// The box that the shadow map of a picture shows: its centre, half its side and half its depth, m.
pub(super) fn lit(camera: &Camera, surroundings: &Surroundings, shadow_size: u32) -> [f64; 5] {
    let Shadow {
        center,
        radius,
        depth,
        ..
    } = Shadow::new(camera, surroundings.bounds, shadow_size);
    [center.x, center.y, center.z, radius, depth]
}

/// The box that the shadow map shows, and its axes.
struct Shadow {
    to_light: DVec3,
    right: DVec3,
    up: DVec3,
    center: DVec3,
    radius: f64,
    depth: f64,
}

impl Shadow {
    fn new(camera: &Camera, bounds: Bounds, size: u32) -> Shadow {
        let turn = turn(camera.zenith);
        let to_light = turn * TO_LIGHT.normalize();
        let right = camera.zenith.cross(to_light).normalize();
        let up = to_light.cross(right);
        let radius = bounds.radius().min(SHADOW_REACH * camera.distance);
        let center = if radius < bounds.radius() {
            camera.target.clamp(bounds.min, bounds.max)
        } else {
            bounds.center()
        };
        // The box moves by whole texels only, so that the edges of shadows stay where they are.
        let texel = 2.0 * radius / f64::from(size);
        let snap = |axis: DVec3| {
            let place = center.dot(axis);
            axis * ((place / texel).floor() * texel - place)
        };
        Shadow {
            to_light,
            right,
            up,
            center: center + snap(right) + snap(up),
            radius,
            depth: bounds.radius() + (bounds.center() - center).length(),
        }
    }
}
