use std::borrow::Cow;

use bytemuck::{Pod, cast_slice, pod_collect_to_vec};
use glam::{DVec3, Vec3};

use crate::model::Model;
use crate::model::clump::Clump;
use crate::model::quantity::QUANTITIES;
use crate::model::wall::Pose;
use crate::simulation::network::{Partner, contacts};
use crate::simulation::snapshot::{Snapshot, bodies, spheres};
use crate::state::{Bonded, State};
use crate::step::Before;

/// Quantities of bodies, spheres or contacts, column by column: what VTK and NPZ files are written
/// from.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Number of rows.
    pub rows: usize,
    /// The columns.
    pub columns: Vec<Column>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Unit; empty for numbers, indices and flags.
    pub unit: &'static str,
    /// Numbers in a row: 1; 3 of a vector (x, y, z), 4 of a quaternion (x, y, z, w).
    pub components: usize,
    /// The numbers, row by row.
    pub values: Values,
}

/// The numbers of a [`Column`].
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the types of the numbers")]
pub enum Values {
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    /// Their bytes, little-endian.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Values::U32(values) => cast_slice(values),
            Values::I32(values) => cast_slice(values),
            Values::F32(values) => cast_slice(values),
            Values::F64(values) => cast_slice(values),
        }
    }

    /// Bytes of a number.
    pub fn size(&self) -> usize {
        match self {
            Values::F64(_) => 8,
            Values::U32(_) | Values::I32(_) | Values::F32(_) => 4,
        }
    }

    /// The bytes of one number of each row of so many.
    pub(super) fn component(&self, index: usize, components: usize) -> Cow<'_, [u8]> {
        fn every<T: Pod>(numbers: &[T], index: usize, components: usize) -> Vec<u8> {
            let own = numbers.iter().skip(index).step_by(components);
            pod_collect_to_vec(&own.copied().collect::<Vec<T>>())
        }
        if components == 1 {
            return Cow::Borrowed(self.bytes());
        }
        Cow::Owned(match self {
            Values::U32(values) => every(values, index, components),
            Values::I32(values) => every(values, index, components),
            Values::F32(values) => every(values, index, components),
            Values::F64(values) => every(values, index, components),
        })
    }
}

/// The types that a column is made of.
trait Number: Sized {
    fn values(numbers: Vec<Self>) -> Values;
}

macro_rules! numbers {
    ($($type:ty => $variant:ident),*) => {$(
        impl Number for $type {
            fn values(numbers: Vec<Self>) -> Values {
                Values::$variant(numbers)
            }
        }
    )*};
}
numbers!(u32 => U32, i32 => I32, f32 => F32, f64 => F64);

fn column<T: Number>(
    name: &'static str,
    unit: &'static str,
    numbers: impl Iterator<Item = T>,
) -> Column {
    Column {
        name,
        unit,
        components: 1,
        values: T::values(numbers.collect()),
    }
}

fn vectors<T: Number, const N: usize>(
    name: &'static str,
    unit: &'static str,
    vectors: impl Iterator<Item = [T; N]>,
) -> Column {
    Column {
        components: N,
        ..column(name, unit, vectors.flatten())
    }
}

/// Bodies of which tables are made: those of a state, or of a part of it.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub shapes: &'a [Clump],
    /// Which of the [quantities](QUANTITIES) the bodies have.
    pub has: [bool; QUANTITIES.len()],
    pub state: &'a State,
    /// Numbers of bodies and spheres before them in the whole.
    pub before: &'a Before,
}

impl Rows<'_> {
    /// Which of the [quantities](QUANTITIES) the bodies of a model have.
    pub fn has(model: &Model) -> [bool; QUANTITIES.len()] {
        QUANTITIES.map(|quantity| (quantity.is_on)(model))
    }

    fn of<'a>(snapshot: &Snapshot<'a>, before: &'a Before) -> Rows<'a> {
        let Snapshot { model, state, .. } = *snapshot;
        Rows {
            shapes: &model.shapes,
            has: Rows::has(model),
            state,
            before,
        }
    }

    /// Index of a body in the whole.
    fn body(&self, own: u32) -> u32 {
        self.before.body(own)
    }

    /// Index of a sphere in the whole.
    fn sphere(&self, own: u32) -> u32 {
        self.before.sphere(own, self.state.params.sphere_count)
    }

    /// See [`Table::bodies`].
    pub fn bodies(&self) -> Table {
        let state = self.state;
        let bodies: Vec<_> = bodies(self.shapes, state).collect();
        let loads: Vec<_> = state.bodies.iter().map(|body| state.load(body)).collect();
        let of = || bodies.iter();
        let material = |shape: usize| self.shapes[shape].materials[0] as u32;
        let quantities = QUANTITIES.iter().enumerate().zip(self.has);
        let quantities = quantities.filter(|(_, has)| *has);
        let quantities = quantities.map(|((index, quantity), _)| {
            let numbers = of().filter_map(|body| body.quantities.array()[index]);
            column(
                quantity.name,
                quantity.unit,
                numbers.map(|number| number as f32),
            )
        });
        let damage = (state.params.bonds == 1)
            .then(|| column("damage", "", state.body_bonds.iter().map(|own| own.damage)));
        Table {
            rows: bodies.len(),
            columns: vec![
                column("body", "", of().map(|b| self.body(b.index as u32))),
                column("shape", "", of().map(|b| b.shape as u32)),
                column("material", "", of().map(|b| material(b.shape))),
                column("fixed", "", of().map(|b| u32::from(b.fixed))),
                column("mass", "kg", of().map(|b| b.mass)),
                vectors("position", "m", of().map(|b| b.position.to_array())),
                vectors("origin", "m", of().map(|b| b.origin.to_array())),
                vectors("orientation", "", of().map(|b| b.orientation.to_array())),
                vectors("velocity", "m/s", of().map(|b| single(b.velocity))),
                vectors(
                    "angular_velocity",
                    "rad/s",
                    of().map(|b| single(b.angular_velocity)),
                ),
                vectors(
                    "contact_force",
                    "N",
                    loads.iter().map(|l| l.force.to_array()),
                ),
                vectors(
                    "contact_torque",
                    "N m",
                    loads.iter().map(|l| l.torque.to_array()),
                ),
                column("contacts", "", loads.iter().map(|l| l.contacts)),
                column("max_overlap", "m", loads.iter().map(|l| l.max_overlap)),
            ]
            .into_iter()
            .chain(quantities)
            .chain(damage)
            .collect(),
        }
    }

    /// See [`Table::spheres`].
    pub fn spheres(&self) -> Table {
        let spheres: Vec<_> = spheres(self.shapes, self.state).collect();
        let of = || spheres.iter();
        Table {
            rows: spheres.len(),
            columns: vec![
                column("body", "", of().map(|s| self.body(s.body as u32))),
                column("shape", "", of().map(|s| s.shape as u32)),
                column("material", "", of().map(|s| s.material as u32)),
                column("radius", "m", of().map(|s| s.radius as f32)),
                vectors("position", "m", of().map(|s| s.position.to_array())),
                vectors("velocity", "m/s", of().map(|s| single(s.velocity))),
                vectors(
                    "angular_velocity",
                    "rad/s",
                    of().map(|s| single(s.angular_velocity)),
                ),
                vectors("force", "N", of().map(|s| single(s.force))),
            ],
        }
    }

    /// See [`Table::bonds`].
    pub fn bonds(&self) -> Table {
        let end = |body| self.before.end(self.state, body);
        let bonds: Vec<Bonded> = self.state.bonded_between(end).collect();
        let of = || bonds.iter();
        Table {
            rows: bonds.len(),
            columns: vec![
                column("bond", "", of().map(|b| b.bond as u32)),
                column("body", "", of().map(|b| b.bodies[0] as u32)),
                column("other_body", "", of().map(|b| b.bodies[1] as u32)),
                column(
                    "broken",
                    "",
                    of().map(|b| b.broken.map_or(0, |own| 1 + u32::from(own.by_shear))),
                ),
                column("breaks", "", of().map(|b| b.breaks)),
                column("changed", "s", of().map(|b| b.changed().unwrap_or(-1.0))),
                column(
                    "energy",
                    "J",
                    of().map(|b| b.broken.map_or(b.energy, |own| own.energy)),
                ),
                column("load", "", of().map(|b| b.load as f32)),
                column("tension", "Pa", of().map(|b| b.tension as f32)),
                column("shear", "Pa", of().map(|b| b.shear as f32)),
                vectors("force", "N", of().map(|b| single(b.force))),
                vectors("moment", "N m", of().map(|b| single(b.moment))),
                vectors(
                    "middle",
                    "m",
                    of().map(|b| b.broken.map_or(b.middle, |own| own.place).to_array()),
                ),
                vectors("from", "m", of().map(|b| b.ends[0].to_array())),
                vectors("to", "m", of().map(|b| b.ends[1].to_array())),
            ],
        }
    }

    /// See [`Table::contacts`].
    pub fn contacts(&self) -> Table {
        let state = self.state;
        let contacts: Vec<_> = contacts(state).collect();
        let of = || contacts.iter();
        let other = |partner: &Partner| match *partner {
            Partner::Sphere { sphere, body } => {
                [self.sphere(sphere) as i32, self.body(body) as i32, -1]
            }
            Partner::Wall(wall) => [-1, -1, wall as i32],
        };
        let part = |index: usize| of().map(move |c| other(&c.partner)[index]);
        let from = |sphere: u32| state.place(&state.spheres[sphere as usize]);
        Table {
            rows: contacts.len(),
            columns: vec![
                column("sphere", "", of().map(|c| self.sphere(c.sphere))),
                column("body", "", of().map(|c| self.body(c.body))),
                column("other_sphere", "", part(0)),
                column("other_body", "", part(1)),
                column("wall", "", part(2)),
                column("overlap", "m", of().map(|c| c.overlap as f32)),
                column("force_size", "N", of().map(|c| c.force.length() as f32)),
                vectors("force", "N", of().map(|c| single(c.force))),
                vectors("normal", "", of().map(|c| single(c.normal))),
                vectors("point", "m", of().map(|c| c.point.to_array())),
                vectors("from", "m", of().map(|c| from(c.sphere).to_array())),
                vectors(
                    "to",
                    "m",
                    of().map(|c| {
                        let from = from(c.sphere);
                        let to = match c.partner {
                            // The nearest image: a line does not go across a periodic box.
                            Partner::Sphere { sphere, .. } => {
                                let way = state.place(&state.spheres[sphere as usize]) - from;
                                from + state.nearest(way)
                            }
                            Partner::Wall(_) => c.point,
                        };
                        to.to_array()
                    }),
                ),
            ],
        }
    }
}

impl Table {
    /// The bodies of a snapshot.
    ///
    /// `position` is the centre of mass, `origin` that of the shape's own axes, `orientation` turns
    /// those into the world's; `material` is that of the first sphere; `contact_force` and `contact_torque` (about the centre of mass) are what
    /// contacts did in the last step, without gravity. The [quantities](QUANTITIES) that the scene has come last,
    /// and with bonds `damage`, the part of them that is broken.
    pub fn bodies(snapshot: &Snapshot) -> Table {
        Rows::of(snapshot, &Before::default()).bodies()
    }

    /// The spheres of a snapshot; `force` is what contacts did to each in the last step.
    pub fn spheres(snapshot: &Snapshot) -> Table {
        Rows::of(snapshot, &Before::default()).spheres()
    }

    /// The contacts of the last step. `from` is the centre of the sphere, `to` that of the other one or
    /// where it touches a wall; `normal` points that way, `force` acts on the sphere. Of `other_sphere`
    /// with `other_body` and `wall`, what it does not touch is -1.
    pub fn contacts(snapshot: &Snapshot) -> Table {
        Rows::of(snapshot, &Before::default()).contacts()
    }

    /// The bonds, broken ones too. `from` and `to` are the centres of mass of the bodies, `middle` is where the bond is between
    /// them, or was when it broke. `force` acts on the first body, and so does `moment`, about the middle; `load` is the stress over the
    /// strength. `broken` is 0, 1 if tension broke it and 2 if shear did; then `energy` is what it held. `breaks` counts how often
    /// it has broken, and `changed` is when it last broke or healed, or -1.
    pub fn bonds(snapshot: &Snapshot) -> Table {
        Rows::of(snapshot, &Before::default()).bonds()
    }

    /// Returns the poses of the walls of a snapshot: `position` is that of each wall's own origin, `orientation` turns
    /// its own axes into the world's.
    pub fn walls(snapshot: &Snapshot) -> Table {
        let walls: Vec<_> = snapshot.walls().collect();
        let of = || walls.iter();
        let position = |pose: &Pose| pose.position.to_array();
        let orientation = |pose: &Pose| pose.orientation.to_array();
        Table {
            rows: walls.len(),
            columns: vec![
                column("wall", "", of().map(|w| w.index as u32)),
                vectors("position", "m", of().map(|w| position(&w.moving.pose))),
                vectors("orientation", "", of().map(|w| orientation(&w.moving.pose))),
            ],
        }
    }

    /// The column of a name.
    ///
    /// # Panics
    /// If there is none.
    pub fn column(&self, name: &str) -> &Column {
        let mut columns = self.columns.iter();
        columns
            .find(|column| column.name == name)
            .unwrap_or_else(|| panic!("a column {name}"))
    }
}

/// A vector in single precision, which is all that an engine has computed.
fn single(vector: DVec3) -> [f32; 3] {
    let vector: Vec3 = vector.as_vec3();
    vector.to_array()
}
