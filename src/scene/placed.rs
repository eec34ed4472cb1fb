//! Bodies that a scene has placed: one reader of the scene finds their poses for another.

use super::Scene;
use crate::model::packing::slab::Searchers;
use crate::model::{Bodies, ModelBody};

/// Bodies of a scene as they start: they take the longest to find, above all where fills are eased apart.
///
/// A page of a browser finds them beside the thread that draws, which [`parse_placed`](super::parse_placed) then spares
/// the search. They travel as numbers.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub(super) bodies: Bodies,
    pub(super) notes: Vec<String>,
}

/// Places of the bodies of fills.
#[derive(Clone, Copy)]
pub(super) enum Places<'a> {
    /// Somebody has found them.
    Known(&'a Placed),
    /// They are looked for; by these processes together, if they are given.
    Searched(Option<&'a dyn Searchers>),
}

impl Placed {
    /// Returns the bodies of `scene` as they start.
    pub fn of(scene: &Scene) -> Placed {
        Placed {
            bodies: scene.model.bodies.clone(),
            notes: scene.notes.clone(),
        }
    }

    /// The notes of the scene.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The bodies as numbers, for [`Placed::from_numbers`].
    pub fn numbers(&self) -> Vec<f64> {
        self.bodies.iter().flat_map(ModelBody::numbers).collect()
    }

    /// Reads what [`Placed::numbers`] and [`Placed::notes`] gave. Other numbers give no bodies, or others.
    pub fn from_numbers(numbers: &[f64], notes: Vec<String>) -> Placed {
        let bodies = numbers.as_chunks().0.iter().map(ModelBody::from_numbers);
        Placed {
            bodies: bodies.collect(),
            notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Disk, parse_placed, parse_with};
    use super::*;

    /// Bodies that are given, and some that are eased apart.
    const SCENE: &str = r#"{
        "version": 1,
        "initial_overlap": "relax",
        "materials": { "stone": { "density": 2500, "restitution": 0.5, "friction": 0.5 } },
        "shapes": { "ball": { "sphere": { "radius": 0.05 }, "material": "stone" } },
        "groups": { "a": {} },
        "planes": [ { "point": [0, 0, 0], "normal": [0, 1, 0], "material": "stone" } ],
        "bodies": [ { "shape": "ball", "position": [0, 1, 0], "velocity": [1, 2, 3], "group": "a" },
                    { "shape": "ball", "position": [0, 1.08, 0], "fixed": true } ],
        "fills": [ { "count": 20, "shapes": { "ball": 1 }, "placement": "random", "orientation": "random",
                     "angular_velocity": { "min": [-3, -3, -3], "max": [3, 3, 3] },
                     "region": { "min": [-0.5, 0.1, -0.5], "max": [0.5, 0.6, 0.5] }, "seed": 3 } ]
    }"#;

    #[test]
    fn a_scene_is_the_same_where_its_bodies_are_placed_already() {
        let path = Path::new("scene.json");
        let scene = parse_with(SCENE, path, &Disk).unwrap();
        assert!(scene.notes.iter().any(|note| note.contains("eased")));
        let placed = Placed::of(&scene);
        let sent = Placed::from_numbers(&placed.numbers(), placed.notes().to_vec());
        assert_eq!(sent, placed);
        let again = parse_placed(SCENE, path, &Disk, &sent).unwrap();
        assert_eq!(again, scene);
        // They are taken as they are told.
        let mut moved = sent.clone();
        moved.bodies[0].position.y += 1.0;
        let other = parse_placed(SCENE, path, &Disk, &moved).unwrap();
        assert_eq!(other.model.bodies, moved.bodies);
        // Those of another scene are not.
        moved.bodies.pop();
        assert_eq!(parse_placed(SCENE, path, &Disk, &moved).unwrap(), scene);
    }
}
