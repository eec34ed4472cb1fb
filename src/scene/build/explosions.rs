//! Bodies that burst.

use std::collections::HashSet;

use super::super::error::{Problem, rounded};
use super::super::format::{Division, SceneFile};
use super::DEEP_OVERLAP;
use super::check::{Check, Names, Sign};
use super::forces::NamedBodies;
use crate::model::ModelBody;
use crate::model::bodies::Listed;
use crate::model::clump::{Clump, Fragments, fragments, random_pieces};
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
            let path = format!("{path}.fragments");
            self.division(&path, &explosion.fragments, &body.shape, clump);
        }
    }

    /// Checks how a body of a shape, which has that name, bursts.
    pub(super) fn division(
        &mut self,
        path: &str,
        division: &Division,
        name: &str,
        clump: Option<&Clump>,
    ) {
        let spheres = clump.map_or(usize::MAX, |clump| clump.spheres.len());
        if spheres < 2 {
            let found = format!("fragments of {name:?}, which is one sphere");
            self.problem(path, found, "a body of two or more");
            return;
        }
        let count = match division {
            Division::Random(count) => *count,
            Division::Given(pieces) => pieces.len() as u64,
        };
        if !(2..=spheres as u64).contains(&count) {
            let expected = match clump {
                Some(_) => format!("2 to {spheres}, the number of spheres of {name:?}"),
                None => "2 or more".to_owned(),
            };
            self.problem(path, count.to_string(), expected);
        }
        let (Division::Given(pieces), Some(_)) = (division, clump) else {
            return;
        };
        let mut times = vec![0; spheres];
        for (number, piece) in pieces.iter().enumerate() {
            let path = format!("{path}[{number}]");
            if piece.is_empty() {
                self.problem(&path, "a fragment without spheres", "one sphere or more");
            }
            for (place, sphere) in piece.iter().enumerate() {
                let path = format_args!("{path}[{place}]");
                match times.get_mut(*sphere) {
                    Some(0) => times[*sphere] = 1,
                    Some(_) => self.problem(
                        path,
                        format!("the sphere {sphere} again"),
                        "each sphere in one fragment",
                    ),
                    None => self.problem(
                        path,
                        format!("the sphere {sphere}"),
                        format!("0 to {}, the spheres of {name:?}", spheres - 1),
                    ),
                }
            }
        }
        if let Some(left) = times.iter().position(|times| *times == 0) {
            self.problem(
                path,
                format!("no fragment with the sphere {left} of {name:?}"),
                "each sphere in one fragment",
            );
        }
    }
}

/// The pieces of a clump, as the spheres of each.
pub(super) fn pieces(clump: &Clump, division: &Division, seed: u64) -> Vec<Vec<usize>> {
    match division {
        Division::Random(count) => random_pieces(clump, *count as usize, seed),
        Division::Given(pieces) => pieces.clone(),
    }
}

/// The explosions of a scene without mistakes; the fragments are added to the shapes.
pub(super) fn explosions(
    file: &SceneFile,
    named: &NamedBodies,
    bodies: Listed,
    shapes: &mut Vec<Clump>,
) -> Result<Vec<Explosion>, Vec<Problem>> {
    let mut explosions = Vec::new();
    for (index, explosion) in file.explosions.iter().enumerate() {
        let name = named.names.get(&explosion.body);
        let body = named.indices[name.expect("no mistakes")];
        let clump = &shapes[bodies[body].shape];
        let pieces = pieces(clump, &explosion.fragments, explosion.seed);
        let Fragments { clumps, overlap } = fragments(clump, &pieces);
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
pub(super) fn flying<'a>(
    explosions: &'a [Explosion],
    bodies: Listed<'a>,
) -> impl Iterator<Item = ModelBody> + 'a {
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
