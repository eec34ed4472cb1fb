//! Triangle meshes from OBJ and STL files.
//!
//! No crate reads them here, because none says in which line a mistake is.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;

use glam::DVec3;
use xxhash_rust::xxh3::Xxh3;

use super::facet::{Facet, TRIANGLE};
use super::tree::Bounds;

/// A triangle mesh; it need not be watertight.
#[derive(Clone, PartialEq)]
pub struct Mesh {
    /// Vertices, m.
    pub vertices: Vec<DVec3>,
    /// Indices of the three vertices of each triangle, anticlockwise seen from the front.
    pub triangles: Vec<[u32; 3]>,
}

/// Format of a mesh file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeshFormat {
    /// Wavefront OBJ.
    Obj,
    /// STL, as text or binary.
    Stl,
}

/// A mistake in a mesh file, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshMistake {
    /// Line of a text file, counted from 1; 0 if the mistake is not in one line.
    pub line: usize,
    /// Words for what was found.
    pub found: String,
    /// Words for what was expected.
    pub expected: String,
}

/// Prints a mesh as one short line with a hash of its data. Models hash what is printed, and a mesh may have a million triangles.
impl fmt::Debug for Mesh {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hash = Xxh3::new();
        hash.update(bytemuck::cast_slice(&self.vertices));
        hash.update(bytemuck::cast_slice(&self.triangles));
        let (vertices, triangles) = (self.vertices.len(), self.triangles.len());
        write!(
            formatter,
            "Mesh({vertices}, {triangles}, {:016x})",
            hash.digest()
        )
    }
}

/// Area of a degenerate triangle, at most, over the square of its longest side.
const THIN: f64 = 1e-10;

impl Mesh {
    /// Makes a mesh of triangles, each given by its corners (m). Equal corners become one vertex.
    pub fn new(triangles: impl IntoIterator<Item = [DVec3; 3]>) -> Mesh {
        let mut welder = Welder::new();
        for corners in triangles {
            let corners = corners.map(|corner| welder.vertex(corner, 0));
            welder.triangle(corners, 0);
        }
        welder.lined.mesh
    }

    /// Reads a mesh from the bytes of a file. Lengths are multiplied by `scale`, which must turn them into metres.
    ///
    /// # Errors
    /// If the file is not a mesh of this format, has no triangles, or has a triangle without area or a number that is not finite.
    pub fn parse(bytes: &[u8], format: MeshFormat, scale: f64) -> Result<Mesh, MeshMistake> {
        if bytes.is_empty() {
            return Err(MeshMistake::of_file("an empty file", "a mesh"));
        }
        let mut file = match (format, binary_triangles(bytes)) {
            (MeshFormat::Obj, _) => obj(text(bytes)?)?,
            (MeshFormat::Stl, Some(triangles)) => binary_stl(triangles),
            (MeshFormat::Stl, None) => text_stl(text(bytes)?)?,
        };
        file.mesh
            .vertices
            .iter_mut()
            .for_each(|vertex| *vertex *= scale);
        file.check()?;
        Ok(file.mesh)
    }

    /// The corners of a triangle, m.
    pub fn corners(&self, triangle: [u32; 3]) -> [DVec3; 3] {
        triangle.map(|corner| self.vertices[corner as usize])
    }

    /// The largest distance of a vertex from the origin, m.
    pub(crate) fn reach(&self) -> f64 {
        self.vertices
            .iter()
            .map(|vertex| vertex.length())
            .fold(0.0, f64::max)
    }

    /// A facet for each triangle, with its box. The other fields of the facets are those of `blank`.
    pub(crate) fn facets(&self, blank: Facet) -> Vec<(Facet, Bounds)> {
        let facet = |&triangle: &[u32; 3]| {
            let [a, b, c] = self.corners(triangle);
            let facet = Facet {
                kind: TRIANGLE,
                a: a.as_vec3(),
                b: (b - a).as_vec3(),
                c: (c - a).as_vec3(),
                d: (b - a).cross(c - a).normalize().as_vec3(),
                ..blank
            };
            (
                facet,
                (a.min(b).min(c).as_vec3(), a.max(b).max(c).as_vec3()),
            )
        };
        self.triangles.iter().map(facet).collect()
    }

    /// Whether the mesh is watertight, so that it has an inside.
    ///
    /// As many triangles must run along each edge in one direction as in the other.
    pub fn is_closed(&self) -> bool {
        let mut open: HashMap<(u32, u32), i32> = HashMap::new();
        for &[a, b, c] in &self.triangles {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                *open.entry((from.min(to), from.max(to))).or_default() +=
                    if from < to { 1 } else { -1 };
            }
        }
        open.values().all(|count| *count == 0)
    }
}

impl MeshFormat {
    /// The format for the ending of a file's name, `obj` or `stl`.
    ///
    /// # Errors
    /// If it has another ending.
    pub fn of(file: &Path) -> Result<MeshFormat, MeshMistake> {
        let ending = file.extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str() {
            Some("obj") => Ok(MeshFormat::Obj),
            Some("stl") => Ok(MeshFormat::Stl),
            _ => Err(MeshMistake::of_file(
                format!("the ending {:?}", ending.to_string_lossy()),
                "\"obj\" or \"stl\"",
            )),
        }
    }
}

impl MeshMistake {
    /// The mistake of a file that cannot be read.
    pub fn unreadable(error: &io::Error) -> MeshMistake {
        let found = match error.kind() {
            io::ErrorKind::NotFound => "no such file".to_owned(),
            _ => format!("a file that cannot be read ({error})"),
        };
        MeshMistake::of_file(found, "a mesh")
    }

    fn of_file(found: impl Into<String>, expected: &str) -> MeshMistake {
        MeshMistake::at(0, found, expected)
    }

    fn at(line: usize, found: impl Into<String>, expected: &str) -> MeshMistake {
        MeshMistake {
            line,
            found: found.into(),
            expected: expected.to_owned(),
        }
    }
}

/// A mesh, with the line of each triangle and of each vertex; 0 in a file without lines.
struct Lined {
    mesh: Mesh,
    lines: Vec<usize>,
    vertex_lines: Vec<usize>,
}

impl Lined {
    fn check(&self) -> Result<(), MeshMistake> {
        let vertices = self.mesh.vertices.iter().zip(&self.vertex_lines);
        for (number, (vertex, &line)) in vertices.enumerate() {
            if !vertex.is_finite() || vertex.abs().max_element() > f64::from(f32::MAX) {
                let found = format!("vertex {}, {vertex}", number + 1);
                return Err(MeshMistake::at(line, found, "three finite numbers"));
            }
        }
        if self.mesh.triangles.is_empty() {
            return Err(MeshMistake::of_file("no triangle", "one or more"));
        }
        for (number, (&triangle, &line)) in self.mesh.triangles.iter().zip(&self.lines).enumerate()
        {
            let [a, b, c] = self.mesh.corners(triangle);
            let longest = (b - a).length().max((c - a).length()).max((c - b).length());
            let area = 0.5 * (b - a).cross(c - a).length();
            if area <= THIN * longest * longest {
                let found = format!(
                    "triangle {}, which is degenerate: it has no area",
                    number + 1
                );
                return Err(MeshMistake::at(
                    line,
                    found,
                    "three corners that are not in one line",
                ));
            }
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<&str, MeshMistake> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()]
            .iter()
            .filter(|b| **b == b'\n')
            .count();
        MeshMistake::at(line, "bytes that are not text", "a mesh, OBJ or STL")
    })
}

/// Reads a vertex: the first three words as numbers.
fn vector<'a>(words: impl Iterator<Item = &'a str>, line: usize) -> Result<DVec3, MeshMistake> {
    let words: Vec<&str> = words.collect();
    let numbers: Vec<f64> = words.iter().map_while(|word| word.parse().ok()).collect();
    match numbers[..] {
        // A weight or a colour may follow.
        [x, y, z, ..] => Ok(DVec3::new(x, y, z)),
        _ => Err(MeshMistake::at(
            line,
            format!("the vertex {:?}", words.join(" ")),
            "three numbers",
        )),
    }
}

/// Reads vertices (`v`) and faces (`f`) of an OBJ file. A face with more than three corners becomes a fan of triangles.
fn obj(text: &str) -> Result<Lined, MeshMistake> {
    let mut lined = Lined {
        mesh: Mesh {
            vertices: Vec::new(),
            triangles: Vec::new(),
        },
        lines: Vec::new(),
        vertex_lines: Vec::new(),
    };
    for (line, content) in (1..).zip(text.lines()) {
        let mut words = content.split_whitespace();
        match words.next() {
            Some("v") => {
                lined.mesh.vertices.push(vector(words, line)?);
                lined.vertex_lines.push(line);
            }
            Some("f") => {
                let count = lined.mesh.vertices.len();
                let corner = |word: &str| {
                    let index = word.split('/').next()?.parse::<i64>().ok()?;
                    // Indices count from 1 on, or with a negative sign backwards from the last vertex.
                    let index = if index < 0 {
                        count as i64 + index
                    } else {
                        index - 1
                    };
                    (0..count as i64).contains(&index).then_some(index as u32)
                };
                let corners: Option<Vec<u32>> = words.map(corner).collect();
                let corners = corners
                    .filter(|corners| corners.len() >= 3)
                    .ok_or_else(|| {
                        let found = format!("the face {:?}", content.trim());
                        let expected = format!("three or more of the {count} vertices before it");
                        MeshMistake::at(line, found, &expected)
                    })?;
                for pair in corners[1..].windows(2) {
                    lined.mesh.triangles.push([corners[0], pair[0], pair[1]]);
                    lined.lines.push(line);
                }
            }
            Some("vn" | "vt" | "vp" | "o" | "g" | "s" | "usemtl" | "mtllib" | "l" | "p") | None => {
            }
            Some(word) if word.starts_with('#') => {}
            Some(_) => {
                let found = format!("{:?}", content.trim().chars().take(40).collect::<String>());
                let expected = "a line of an OBJ file, such as \"v 0 1 0\" or \"f 1 2 3\"";
                return Err(MeshMistake::at(line, found, expected));
            }
        }
    }
    Ok(lined)
}

/// The 50 bytes of each triangle of a binary STL file; `None` for other files.
///
/// The length tells, because a binary file may also start with `solid`, as a text does.
fn binary_triangles(bytes: &[u8]) -> Option<std::slice::Chunks<'_, u8>> {
    let count = u32::from_le_bytes(bytes.get(80..84)?.try_into().ok()?);
    let triangles = &bytes[84..];
    (triangles.len() as u64 == 50 * u64::from(count)).then(|| triangles.chunks(50))
}

/// Builder of a mesh from single corners; equal corners become one vertex.
struct Welder {
    lined: Lined,
    known: HashMap<[u64; 3], u32>,
}

impl Welder {
    fn new() -> Welder {
        let mesh = Mesh {
            vertices: Vec::new(),
            triangles: Vec::new(),
        };
        Welder {
            lined: Lined {
                mesh,
                lines: Vec::new(),
                vertex_lines: Vec::new(),
            },
            known: HashMap::new(),
        }
    }

    fn vertex(&mut self, place: DVec3, line: usize) -> u32 {
        let Lined {
            mesh, vertex_lines, ..
        } = &mut self.lined;
        // Adding 0 makes -0 equal to 0.
        let bits = place.to_array().map(|x| (x + 0.0).to_bits());
        *self.known.entry(bits).or_insert_with(|| {
            mesh.vertices.push(place);
            vertex_lines.push(line);
            mesh.vertices.len() as u32 - 1
        })
    }

    fn triangle(&mut self, corners: [u32; 3], line: usize) {
        self.lined.mesh.triangles.push(corners);
        self.lined.lines.push(line);
    }
}

fn binary_stl(triangles: std::slice::Chunks<'_, u8>) -> Lined {
    let mut welder = Welder::new();
    for triangle in triangles {
        let number = |k: usize| {
            let at = 4 * k;
            let bytes = [
                triangle[at],
                triangle[at + 1],
                triangle[at + 2],
                triangle[at + 3],
            ];
            f64::from(f32::from_le_bytes(bytes))
        };
        // The normal comes first; it is skipped, because it follows from the corners.
        let corners = [1, 2, 3].map(|k| {
            let place = DVec3::new(number(3 * k), number(3 * k + 1), number(3 * k + 2));
            welder.vertex(place, 0)
        });
        welder.triangle(corners, 0);
    }
    welder.lined
}

fn text_stl(text: &str) -> Result<Lined, MeshMistake> {
    let mut welder = Welder::new();
    let mut corners = Vec::new();
    let (mut solid, mut last) = (false, 0);
    for (line, content) in (1..).zip(text.lines()) {
        let mut words = content.split_whitespace();
        last = line;
        let word = words.next();
        if !solid && word.is_some() && word != Some("solid") {
            let found = format!("{:?}", content.trim().chars().take(40).collect::<String>());
            let expected = "\"solid\", with which an STL file in text starts; one in binary has 84 bytes and 50 \
                            for each triangle";
            return Err(MeshMistake::at(line, found, expected));
        }
        match word {
            Some("solid") => solid = true,
            Some("vertex") => {
                let place = vector(words, line)?;
                corners.push(welder.vertex(place, line));
            }
            Some("endfacet") => {
                let &[a, b, c] = &corners[..] else {
                    let found = format!("a facet of {} vertices", corners.len());
                    return Err(MeshMistake::at(line, found, "three"));
                };
                welder.triangle([a, b, c], line);
                corners.clear();
            }
            Some("facet" | "outer" | "endloop" | "endsolid") | None => {}
            Some(_) => {
                let found = format!("{:?}", content.trim().chars().take(40).collect::<String>());
                let expected = "a line of an STL file, such as \"vertex 0 1 0\"";
                return Err(MeshMistake::at(line, found, expected));
            }
        }
    }
    if !corners.is_empty() {
        return Err(MeshMistake::at(
            last,
            "the end of the file",
            "the rest of a facet",
        ));
    }
    Ok(welder.lined)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A ball of triangles: an octahedron with its faces split `times` times.
    pub fn ball(radius: f64, times: u32) -> Mesh {
        let mut faces: Vec<[DVec3; 3]> = Vec::new();
        for k in 0..8 {
            let [x, y, z] = [0, 1, 2].map(|bit| if k >> bit & 1 == 0 { 1.0 } else { -1.0 });
            let [a, b, c] = [x * DVec3::X, y * DVec3::Y, z * DVec3::Z];
            faces.push(if x * y * z > 0.0 {
                [a, b, c]
            } else {
                [a, c, b]
            });
        }
        for _ in 0..times {
            faces = faces
                .into_iter()
                .flat_map(|[a, b, c]| {
                    let middle = |p: DVec3, q: DVec3| (p + q).normalize();
                    let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
                    [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
                })
                .collect();
        }
        Mesh::new(
            faces
                .into_iter()
                .map(|face| face.map(|corner| radius * corner)),
        )
    }

    /// A cuboid about the origin.
    pub fn cuboid(size: DVec3) -> Mesh {
        let mut triangles = Vec::new();
        for axis in 0..3 {
            let [u, v] = [1, 2].map(|step| DVec3::AXES[(axis + step) % 3]);
            for side in [-1.0, 1.0] {
                let corner =
                    |i: f64, j: f64| 0.5 * size * (side * (DVec3::AXES[axis] + i * u) + j * v);
                let [a, b, c, d] = [
                    corner(-1.0, -1.0),
                    corner(1.0, -1.0),
                    corner(1.0, 1.0),
                    corner(-1.0, 1.0),
                ];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        Mesh::new(triangles)
    }

    #[test]
    fn a_tetrahedron_is_the_same_in_all_formats() {
        let obj = obj("# a comment\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n\
                       f 1 3 2\nf 1/1 2/2/2 4//1\nf -4 -1 -2\nf 2 3 4\n")
        .unwrap()
        .mesh;
        let mut ascii = "solid name\n".to_owned();
        let mut binary = vec![0; 80];
        binary.extend(4_u32.to_le_bytes());
        for &triangle in &obj.triangles {
            ascii += "facet normal 0 0 0\n outer loop\n";
            binary.extend([0; 12]);
            for corner in obj.corners(triangle) {
                ascii += &format!("  vertex {} {} {}\n", corner.x, corner.y, corner.z);
                for x in corner.to_array() {
                    binary.extend((x as f32).to_le_bytes());
                }
            }
            ascii += " endloop\nendfacet\n";
            binary.extend([0; 2]);
        }
        let ascii = text_stl(&ascii).unwrap().mesh;
        let binary = binary_stl(binary_triangles(&binary).unwrap()).mesh;
        assert_eq!(ascii, binary);
        for mesh in [&obj, &ascii] {
            assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (4, 4));
            assert!(mesh.is_closed());
            let volume: f64 = mesh
                .triangles
                .iter()
                .map(|&triangle| {
                    let [a, b, c] = mesh.corners(triangle);
                    a.dot(b.cross(c)) / 6.0
                })
                .sum();
            assert!((volume - 1.0 / 6.0).abs() < 1e-12);
        }
    }
}
