//! glTF: one state as a file that viewers, browsers and Blender open.

use std::io::{self, Write};

use glam::{DVec3, Vec3};
use serde_json::{Value, json};

use super::meshes::{colour, shape_mesh};
use super::walls::{WallMesh, walls};
use crate::simulation::snapshot::Snapshot;

/// Kinds of numbers and of buffers, as glTF counts them.
const FLOATS: u32 = 5126;
const UNSIGNED: u32 = 5125;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// The parts of a file: what is described, and the bytes that it describes.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Parts {
    fn view(&mut self, bytes: &[u8], target: u32) -> usize {
        let view = json!({
            "buffer": 0,
            "byteOffset": self.bytes.len(),
            "byteLength": bytes.len(),
            "target": target,
        });
        // Numbers of four bytes, so that each view starts where they may.
        self.bytes.extend(bytes);
        self.views.push(view);
        self.views.len() - 1
    }

    fn vectors(&mut self, vectors: &[Vec3]) -> usize {
        let view = self.view(bytemuck::cast_slice(vectors), VERTICES);
        let min = vectors.iter().copied().fold(Vec3::INFINITY, Vec3::min);
        let max = vectors.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
        self.accessors.push(json!({
            "bufferView": view,
            "componentType": FLOATS,
            "count": vectors.len(),
            "type": "VEC3",
            "min": min.to_array(),
            "max": max.to_array(),
        }));
        self.accessors.len() - 1
    }

    fn indices(&mut self, triangles: &[[u32; 3]]) -> usize {
        let view = self.view(bytemuck::cast_slice(triangles), INDICES);
        self.accessors.push(json!({
            "bufferView": view,
            "componentType": UNSIGNED,
            "count": 3 * triangles.len(),
            "type": "SCALAR",
        }));
        self.accessors.len() - 1
    }

    fn mesh(
        &mut self,
        points: &[Vec3],
        normals: Option<&[Vec3]>,
        triangles: &[[u32; 3]],
        material: usize,
    ) -> Value {
        let mut attributes = json!({ "POSITION": self.vectors(points) });
        if let Some(normals) = normals {
            attributes["NORMAL"] = json!(self.vectors(normals));
        }
        json!({ "primitives": [ {
            "attributes": attributes,
            "indices": self.indices(triangles),
            "material": material,
        } ] })
    }
}

/// Writes a state as binary glTF 2.0 (`.glb`): a mesh for each shape, a node for each body, and the walls as they stand.
/// Lengths are in metres; up is y, as glTF has it, whatever it is in the scene.
///
/// # Errors
/// If `writer` fails.
pub fn write_gltf(mut writer: impl Write, snapshot: &Snapshot) -> io::Result<()> {
    let model = snapshot.model;
    let mut parts = Parts::default();
    let material = |[r, g, b]: [f32; 3], opacity: f32| {
        json!({
            "pbrMetallicRoughness": {
                "baseColorFactor": [r, g, b, opacity], "metallicFactor": 0.0, "roughnessFactor": 0.6,
            },
            "alphaMode": if opacity < 1.0 { "BLEND" } else { "OPAQUE" },
            "doubleSided": opacity < 1.0,
        })
    };
    let mut materials: Vec<Value> = (0..model.shapes.len())
        .map(|shape| material(colour(shape), 1.0))
        .collect();
    materials.push(material([0.40, 0.46, 0.53], 0.4));
    let mut meshes = Vec::new();
    for (index, clump) in model.shapes.iter().enumerate() {
        let mesh = shape_mesh(clump);
        meshes.push(parts.mesh(&mesh.points, Some(&mesh.normals), &mesh.triangles, index));
    }
    let mut nodes = Vec::new();
    for body in snapshot.bodies() {
        nodes.push(json!({
            "name": format!("body {}", body.id),
            "mesh": body.shape,
            "translation": body.origin.to_array(),
            "rotation": body.orientation.to_array(),
        }));
    }
    for (wall, own) in model.walls.iter().zip(walls(snapshot)) {
        let WallMesh {
            points, triangles, ..
        } = own;
        if triangles.is_empty() {
            continue;
        }
        let points: Vec<Vec3> = points.iter().map(|place| place.as_vec3()).collect();
        nodes.push(json!({ "name": wall.name, "mesh": meshes.len() }));
        meshes.push(parts.mesh(&points, None, &triangles, model.shapes.len()));
    }
    // All in one, turned so that up is up.
    let turn = glam::DQuat::from_rotation_arc(model.up(), DVec3::Y);
    let children: Vec<usize> = (0..nodes.len()).collect();
    let mut root = json!({ "name": model.name, "rotation": turn.to_array() });
    if !children.is_empty() {
        root["children"] = json!(children);
    }
    nodes.push(root);
    let description = json!({
        "asset": { "version": "2.0", "generator": concat!("Rockfall ", env!("CARGO_PKG_VERSION")) },
        "scene": 0,
        "scenes": [ { "nodes": [nodes.len() - 1], "extras": { "time": snapshot.time(), "step": snapshot.steps } } ],
        "nodes": nodes,
        "meshes": meshes,
        "materials": materials,
        "accessors": parts.accessors,
        "bufferViews": parts.views,
        "buffers": [ { "byteLength": parts.bytes.len() } ],
    });
    let mut text = description.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let total = 12 + 8 + text.len() + 8 + parts.bytes.len();
    let total = u32::try_from(total)
        .map_err(|_| io::Error::other("more than 4 GiB, which glTF cannot hold"))?;
    writer.write_all(b"glTF")?;
    writer.write_all(&2_u32.to_le_bytes())?;
    writer.write_all(&total.to_le_bytes())?;
    for (kind, chunk) in [(b"JSON", &text), (b"BIN\0", &parts.bytes)] {
        writer.write_all(&(chunk.len() as u32).to_le_bytes())?;
        writer.write_all(kind)?;
        writer.write_all(chunk)?;
    }
    writer.flush()
}
