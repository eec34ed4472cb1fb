use std::path::Path;

use crate::model::Model;
use crate::scene;

/// A scene of the default set; its file is `scenes/bench/<name>.json`.
#[derive(Clone, Copy, Debug)]
pub struct BenchScene {
    /// Name.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! scenes {
    ($($name:literal),*) => {
        [$(BenchScene {
            name: $name,
            text: include_str!(concat!("../../../scenes/bench/", $name, ".json")),
        }),*]
    };
}

impl BenchScene {
    /// The default set, the fewest spheres first: beds of the same depth, so that size changes
    /// nothing but size.
    pub const ALL: [BenchScene; 4] =
        scenes!["cubes_10k", "spheres_100k", "cubes_100k", "spheres_1m"];

    /// Loads the scene.
    pub fn model(&self) -> Model {
        scene::parse(self.text, Path::new(self.name))
            .expect("the scenes of the default set are right")
            .model
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scene_is_right_and_has_the_bodies_of_its_name() {
        for (scene, bodies, spheres) in [
            (BenchScene::ALL[0], 10_000, 80_000),
            (BenchScene::ALL[1], 100_000, 100_000),
            (BenchScene::ALL[2], 100_000, 800_000),
            (BenchScene::ALL[3], 1_000_000, 1_000_000),
        ] {
            let read = scene::parse(scene.text, Path::new(scene.name)).unwrap();
            assert_eq!(read.warnings, Vec::<String>::new());
            assert_eq!(read.model.name, scene.name);
            assert_eq!(read.model.bodies.len(), bodies);
            assert_eq!(read.model.sphere_count(), spheres);
        }
    }
}
