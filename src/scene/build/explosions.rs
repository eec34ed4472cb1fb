//! Bodies that burst.

use std::collections::HashSet;

use super::super::error::{Problem, rounded};
use super::super::format::SceneFile;
use super::DEEP_OVERLAP;
use super::check::{Check, Names, Sign};
use super::forces::NamedBodies;
use crate::model::ModelBody;
use crate::model::clump::{Clump, Fragments, fragments};
use crate::model::flow::Explosion;

impl Check {
    pub(super) fn explosions(
        &mut self,
        file: &SceneFile,
        named: &NamedBodies,
        first: usize,
        names: &Names,
        shapes: &[Option<Clump>],
    ) {
        let mut burst = HashSet::new();
        for (index, explosion) in file.explosions.iter().enumerate() {
            let path = format!("explosions[{index}]");
            let at = format_args!("{path}.at");
            self.number(at, explosion.at, "a time, s", Sign::NotNegative);
            let speed = format_args!("{path}.speed");
            self.number(speed, explosion.speed, "a speed, m/s", Sign::NotNegative);
            let place = format!("{path}.body");
            let name = &explosion.body;
            let Some(body) = self.resolve(&place, name, &named.names) else {
                continue;
            };
            let body = &file.bodies[named.indices[body] - first];
            if !burst.insert(name) {
                self.problem(
                    place,
                    format!("{name:?}, which bursts already"),
                    "each body once",
                );
            } else if body.fixed {
                self.problem(
                    place,
                    format!("{name:?}, which is fixed"),
                    "a body that can move",
                );
            }
            let clump = names
                .get(&body.shape)
                .and_then(|shape| shapes[shape].as_ref());
            let most = clump.map_or(u64::MAX, |clump| clump.spheres.len() as u64);
            let count = format_args!("{path}.fragments");
            if most < 2 {
                let found = format!("fragments of {:?}, which is one sphere", body.shape);
                self.problem(count, found, "a body of two or more");
            } else if !(2..=most).contains(&explosion.fragments) {
                let expected = match clump {
                    Some(_) => format!("2 to {most}, the number of spheres of {:?}", body.shape),
                    None => "2 or more".to_owned(),
                };
                self.problem(count, explosion.fragments.to_string(), expected);
            }
        }
    }
}

/// The explosions of a scene without mistakes; the fragments are added to the shapes.
pub(super) fn explosions(
    file: &SceneFile,
    named: &NamedBodies,
    bodies: &[ModelBody],
    shapes: &mut Vec<Clump>,
) -> Result<Vec<Explosion>, Vec<Problem>> {
    let mut explosions = Vec::new();
    for (index, explosion) in file.explosions.iter().enumerate() {
        let name = named.names.get(&explosion.body);
        let body = named.indices[name.expect("no mistakes")];
        let clump = &shapes[bodies[body].shape];
        let Fragments { clumps, overlap } =
            fragments(clump, explosion.fragments as usize, explosion.seed);
        if overlap > DEEP_OVERLAP {
            let path = format_args!("explosions[{index}].body");
            let found = format!(
                "a {:?}, spheres of which overlap by up to {} % of the smaller radius",
                clump.name,
                rounded(100.0 * overlap)
            );
            let expected = "at most 5 % between fragments, or they drive each other apart";
            return Err(vec![
                Problem::new(path, found, expected).help("take a shape whose spheres only touch"),
            ]);
        }
        let start = shapes.len();
        shapes.extend(clumps);
        explosions.push(Explosion {
            body: body as u64,
            at: explosion.at,
            speed: explosion.speed,
            fragments: start..shapes.len(),
        });
    }
    Ok(explosions)
}

/// A body of each shape that fragments have, as it may come to fly: what stiffness and time step must be fit for.
pub(super) fn flying(
    explosions: &[Explosion],
    bodies: &[ModelBody],
) -> impl Iterator<Item = ModelBody> {
    explosions.iter().flat_map(move |explosion| {
        let body = bodies[explosion.body as usize];
        let away = body.velocity.normalize_or(glam::DVec3::X);
        let velocity = body.velocity + explosion.speed * away;
        let shapes = explosion.fragments.clone();
        shapes.map(move |shape| ModelBody {
            shape,
            velocity,
            ..body
        })
    })
}
