//! A state in the units of its users: positions in the world, velocities, contacts.

use glam::{DMat3, DQuat, DVec3};

use crate::model::Model;
use crate::model::clump::Clump;
use crate::model::error::Result;
use crate::model::quantity::Quantities;
use crate::model::wall::{Dynamic, Moving};
use crate::simulation::Simulation;
use crate::simulation::network::{Network, NetworkContact, Partner, contacts};
use crate::simulation::summary::{Energy, Summary};
use crate::state::layout::{Body, SummedLoad};
use crate::state::{Field, Identity, State, angular_velocity, body_orientation, quantities};

/// The state at the end of a step, with its model: a view, which copies nothing.
///
/// [`Simulation::snapshot`] gives one. Positions and velocities are those at the end of the step; forces and contacts
/// are those during the step.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// The model.
    pub model: &'a Model,
    /// The buffers.
    pub state: &'a State,
    /// Number of steps taken.
    pub steps: u64,
}

/// Reported state of a body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BodyState {
    /// Index of the body.
    pub index: usize,
    /// Its number: the index, unless bodies came or left before.
    pub id: u64,
    /// Index of its shape in [`Model::shapes`].
    pub shape: usize,
    /// Mass, kg.
    pub mass: f64,
    /// Whether the body is fixed.
    pub fixed: bool,
    /// Centre of mass, m.
    pub position: DVec3,
    /// Origin of the shape's own axes, m.
    pub origin: DVec3,
    /// Rotation from the shape's own axes to the world.
    pub orientation: DQuat,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Angular velocity in the world frame, rad/s.
    pub angular_velocity: DVec3,
    /// Quantities that it carries besides its motion, if the scene has them; unknown for a body in a trace.
    pub quantities: Quantities<Option<f64>>,
}

/// Reported state of a sphere.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SphereState {
    /// Index of the sphere.
    pub index: usize,
    /// Index of its body.
    pub body: usize,
    /// Index of the body's shape in [`Model::shapes`].
    pub shape: usize,
    /// Index of its material in [`Model::materials`].
    pub material: usize,
    /// Radius, m.
    pub radius: f64,
    /// Centre, m.
    pub position: DVec3,
    /// Velocity of the centre, m/s.
    pub velocity: DVec3,
    /// Angular velocity of the body in the world frame, rad/s.
    pub angular_velocity: DVec3,
    /// Force of contacts on it during the step, N.
    pub force: DVec3,
}

/// Load of contacts on a wall during a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WallLoad {
    /// Force, N.
    pub force: DVec3,
    /// Torque about the wall's position, N m.
    pub torque: DVec3,
}

/// Work and power of a wall on bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WallWork {
    /// Power in the last step, W.
    pub power: f64,
    /// Work since the start, J.
    pub work: f64,
}

/// Reported state of a wall; [`Model::walls`] has its shape.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WallState {
    /// Index of the wall in [`Model::walls`].
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its position and its motion.
    pub moving: Moving,
}

impl<'a> Snapshot<'a> {
    /// The buffers in which contacts are found, and the bodies and walls that have them.
    pub(crate) const CONTACTS: [Field; 8] = [
        Field::Bodies,
        Field::Walls,
        Field::DynamicWalls,
        Field::Spheres,
        Field::NeighbourStarts,
        Field::Neighbours,
        Field::History,
        Field::Stats,
    ];

    /// The buffers that a snapshot reads.
    pub(crate) fn fields() -> Vec<Field> {
        let more = [
            Field::WallLoads,
            Field::SphereLoads,
            Field::Bonds,
            Field::BodyBonds,
        ];
        [&Snapshot::CONTACTS[..], &more, &quantities::BUFFERS].concat()
    }

    /// The buffers that sums over all bodies and contacts read.
    pub(crate) fn fields_of_totals() -> Vec<Field> {
        [&Snapshot::fields()[..], &[Field::BodyForces]].concat()
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        self.state.step_times(self.model).after(self.steps as f64)
    }

    /// State of a body: of its centre of mass, and of the shape's own axes.
    ///
    /// # Panics
    /// If there is no body `index`.
    pub fn body(&self, index: usize) -> BodyState {
        body(&self.model.shapes, self.state, index)
    }

    /// All bodies, one by one.
    pub fn bodies(self) -> impl ExactSizeIterator<Item = BodyState> + Clone + 'a {
        bodies(&self.model.shapes, self.state)
    }

    /// All spheres, one by one, body by body.
    pub fn spheres(self) -> impl Iterator<Item = SphereState> + Clone + 'a {
        spheres(&self.model.shapes, self.state)
    }

    /// All walls, one by one.
    pub fn walls(self) -> impl ExactSizeIterator<Item = WallState> + 'a {
        let walls = self.model.walls.iter().enumerate();
        walls.map(move |(index, wall)| WallState {
            index,
            name: wall.name.clone(),
            moving: self.state.wall(index),
        })
    }

    /// Loads of contacts on each wall in the last step.
    pub fn wall_loads(self) -> Vec<WallLoad> {
        let mut loads = vec![WallLoad::default(); self.model.walls.len()];
        self.add_wall_loads(&mut loads);
        self.summed_wall_loads().unwrap_or(loads)
    }

    /// Load on a group of walls together, from the loads on all walls. The torque is about the position of its first wall.
    pub(crate) fn load_of_group(self, group: &[usize], loads: &[WallLoad]) -> WallLoad {
        let position = |wall: usize| self.state.wall(wall).pose.position;
        let mut sum = WallLoad::default();
        for &wall in group {
            let load = &loads[wall];
            let arm = self.state.nearest(position(wall) - position(group[0]));
            sum.force += load.force;
            sum.torque += load.torque + arm.cross(load.force);
        }
        sum
    }

    /// Loads of contacts on each wall in the last step, if the engines have summed them.
    pub(super) fn summed_wall_loads(self) -> Option<Vec<WallLoad>> {
        if !self.sums_wall_loads() {
            return None;
        }
        let wall_loads = &self.state.wall_loads;
        let summed = wall_loads[..self.model.walls.len()].iter().enumerate();
        let load = |(wall, load): (usize, &SummedLoad)| {
            let force = load.force.as_dvec3();
            // The engines sum torques about the anchor.
            let orientation = self.state.wall(wall).pose.orientation;
            let arm = orientation * self.state.anchors[wall];
            WallLoad {
                force,
                torque: load.torque.as_dvec3() + arm.cross(force),
            }
        };
        Some(summed.map(load).collect())
    }

    fn sums_wall_loads(&self) -> bool {
        // The contacts omit what a custom law does, and the sums bodies that sleep on a wall at rest.
        let dynamic = self.model.walls.iter().any(|wall| wall.dynamic.is_some());
        dynamic || self.model.contact.law.custom().is_some()
    }

    /// Adds the loads of the contacts of this part on each wall, if the engines have not summed them.
    pub(super) fn add_wall_loads(self, loads: &mut [WallLoad]) {
        if self.sums_wall_loads() || loads.is_empty() {
            return;
        }
        for contact in self.contacts() {
            if let Partner::Wall(wall) = contact.partner {
                let arm = contact.point - self.state.wall(wall as usize).pose.position;
                let load = &mut loads[wall as usize];
                load.force -= contact.force;
                load.torque -= self.state.nearest(arm).cross(contact.force) + contact.torque;
            }
        }
    }

    /// Power (W) of each wall that moves on bodies, and its work since the start (J).
    ///
    /// A belt does work along the velocity of its surface. The work of a rigid-body wall is that of the force and
    /// torque on it. Walls at rest do none.
    pub fn wall_work(self) -> Vec<WallWork> {
        self.wall_work_under(&self.wall_loads())
    }

    /// [`Snapshot::wall_work`], with the loads on the walls.
    pub(crate) fn wall_work_under(self, loads: &[WallLoad]) -> Vec<WallWork> {
        let loads = loads.iter().zip(self.walls());
        let work = loads.zip(&self.state.wall_loads);
        work.map(|((load, wall), summed)| {
            let moving = wall.moving;
            let own = &self.model.walls[wall.index];
            let power = match own.dynamic {
                Some(Dynamic::Body(rigid)) => {
                    rigid.force.dot(moving.velocity) + rigid.torque.dot(moving.angular_velocity)
                }
                _ => {
                    let surface = moving.velocity + moving.pose.orientation * own.belt;
                    -(load.force.dot(surface) + load.torque.dot(moving.angular_velocity))
                }
            };
            WallWork {
                power,
                work: f64::from(summed.work) + f64::from(summed.work_rest),
            }
        })
        .collect()
    }

    /// The contacts of the last step, one by one; see [`Network::contacts`].
    pub fn contacts(self) -> impl Iterator<Item = NetworkContact> + Clone + 'a {
        contacts(self.state)
    }

    /// The contacts of the last step.
    pub fn network(&self) -> Network {
        Network::new(self.state)
    }

    /// Energy of the bodies and of their contacts, and the energy dissipated so far.
    pub fn energy(&self) -> Energy {
        Energy::new(self.model, self.state)
    }

    /// Energy, momentum, number of contacts, and the hash of the state.
    pub fn summary(&self) -> Summary {
        Summary::new(self.model, self.state)
    }

    /// Largest overlap of all contacts in the last step, as a fraction of the smaller radius; 0 without a contact.
    pub fn largest_overlap_fraction(&self) -> f64 {
        let spheres = self.state.spheres.iter().zip(&self.state.sphere_loads);
        let fractions =
            spheres.map(|(sphere, load)| f64::from(load.max_overlap) / f64::from(sphere.radius));
        fractions.fold(0.0, f64::max)
    }

    /// The coordination number: the mean number of contacts of a body that is not fixed.
    pub fn coordination(&self) -> f64 {
        let mut sums = Touching::default();
        sums.add(self.state);
        sums.mean()
    }
}

/// Contacts of bodies that are not fixed, and the number of these bodies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Touching {
    contacts: f64,
    bodies: f64,
}

impl Touching {
    /// Adds a part of a state.
    pub(super) fn add(&mut self, part: &State) {
        let bodies = part.identities.iter().zip(&part.bodies);
        for (_, body) in bodies.filter(|(who, _)| !who.fixed) {
            self.contacts += f64::from(part.load(body).contacts);
            self.bodies += 1.0;
        }
    }

    /// The coordination number.
    pub(super) fn mean(self) -> f64 {
        match self.bodies > 0.0 {
            true => self.contacts / self.bodies,
            false => 0.0,
        }
    }
}

impl Simulation {
    /// The present state; the buffers that [`Snapshot`] reads are copied from the device if necessary.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn snapshot(&mut self) -> Result<Snapshot<'_>> {
        self.fetch(&Snapshot::fields())?;
        Ok(self.fetched())
    }

    /// Present positions and motions of the walls. [`Wall::surface`](crate::model::wall::Wall::surface) of each of
    /// [`Model::walls`] gives its geometry.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn walls(&mut self) -> Result<Vec<WallState>> {
        self.fetch(&[Field::Walls])?;
        Ok(self.fetched().walls().collect())
    }
}

/// Reported state of a body of one of these shapes.
fn body(shapes: &[Clump], state: &State, index: usize) -> BodyState {
    BodyState {
        quantities: state.quantities(index),
        ..report(
            shapes,
            state,
            index,
            state.identities.at(index),
            &state.bodies[index],
        )
    }
}

/// Reported states of all bodies, which are of these shapes: of a model, a process may have no more than that.
pub(crate) fn bodies<'a>(
    shapes: &'a [Clump],
    state: &'a State,
) -> impl ExactSizeIterator<Item = BodyState> + Clone + 'a {
    (0..state.bodies.len()).map(move |index| body(shapes, state, index))
}

/// Reported states of the spheres of all bodies, which are of these shapes.
pub(crate) fn spheres<'a>(
    shapes: &'a [Clump],
    state: &'a State,
) -> impl Iterator<Item = SphereState> + Clone + 'a {
    let bodies = state.bodies.iter().enumerate();
    bodies.flat_map(move |(index, body)| {
        let start = state.identities.at(index);
        let clump = &shapes[start.shape];
        let center = state.position(body);
        let axes = DMat3::from_quat(body_orientation(body));
        let velocity = body.velocity.as_dvec3();
        let spin = angular_velocity(body, moments(start, clump));
        let first = body.first_sphere as usize;
        let members = clump.spheres.iter().enumerate();
        members.map(move |(member, sphere)| {
            let arm = axes * sphere.center;
            let index_of_sphere = first + member;
            SphereState {
                index: index_of_sphere,
                body: index,
                shape: start.shape,
                material: clump.materials[member],
                radius: sphere.radius,
                position: center + arm,
                velocity: velocity + spin.cross(arm),
                angular_velocity: spin,
                force: state.sphere_loads[index_of_sphere].force.as_dvec3(),
            }
        })
    })
}

/// Reported state of a body, without the quantities that it carries.
pub(crate) fn report(
    shapes: &[Clump],
    state: &State,
    index: usize,
    start: Identity,
    body: &Body,
) -> BodyState {
    let clump = &shapes[start.shape];
    let position = state.position(body);
    let orientation = body_orientation(body);
    BodyState {
        index,
        id: start.id,
        shape: start.shape,
        mass: clump.mass,
        fixed: start.fixed,
        position,
        origin: clump.origin(position, orientation),
        orientation: clump.shape_orientation(orientation),
        velocity: body.velocity.as_dvec3(),
        angular_velocity: angular_velocity(body, moments(start, clump)),
        quantities: Quantities::default(),
    }
}

/// Principal moments of inertia that relate the stored angular momentum of a body to its angular velocity, kg m².
/// They are 1 for a fixed body, which stores its angular velocity.
pub(super) fn moments(start: Identity, clump: &Clump) -> DVec3 {
    match start.fixed {
        true => DVec3::ONE,
        false => clump.inertia,
    }
}
