//! The state of the reference: what [`crate::state::State`] has, in either precision.

use glam::{DQuat, DVec3, DVec4, Vec4};

pub use super::contact::{History, Pair};
use super::grid::Place;
pub use super::mirror::{
    Action, Body, BodyForce, BodyHeat, BodyProperties, Facet, Group, Load, LoadedWall, Member,
    Node, Params, Sphere, SphereLoad, Wall,
};
use super::mirror::{Mirror, TakeAll};
use super::real::Real;
use super::rotation::{Orientation, Quaternion};
use super::vector::Vector;
use crate::model::forces::End;
use crate::model::Model;
use crate::state::layout::{
    self, APPLIED, ASLEEP, FAST, GROUP_SHIFT, KEPT, MATERIAL_BITS, PUSH, Stats, THRUST,
};
use crate::state::{Identity, Movers, State as Buffers};

/// All that the passes of the reference read and write; see the fields of [`crate::state::State`].
#[derive(Clone, Debug)]
pub struct State<R: Real> {
    pub(super) origin: DVec3,
    pub(super) params: Params<R>,
    pub(super) identities: Vec<Identity>,
    pub(super) movers: Movers,
    pub(super) properties: Vec<BodyProperties<R>>,
    pub(super) members: Vec<Member<R>>,
    pub(super) pairs: Vec<Pair<R>>,
    pub(super) groups: Vec<Group<R>>,
    pub(super) actions: Vec<Action<R>>,
    pub(super) facets: Vec<Facet<R>>,
    pub(super) nodes: Vec<Node<R>>,
    pub(super) samples: Vec<R>,
    pub(super) bodies: Vec<Body<R>>,
    pub(super) walls: Vec<Wall<R>>,
    pub(super) loaded_walls: Vec<LoadedWall<R>>,
    pub(super) spheres: Vec<Sphere<R>>,
    pub(super) buckets: Vec<u32>,
    pub(super) slots: Vec<u32>,
    pub(super) bucket_starts: Vec<u32>,
    pub(super) sorted: Vec<u32>,
    pub(super) neighbour_starts: Vec<u32>,
    pub(super) neighbours: Vec<u32>,
    /// Of each entry of `neighbours`.
    pub(super) history: Vec<History<R>>,
    pub(super) sphere_loads: Vec<SphereLoad<R>>,
    pub(super) wall_sums: Vec<i32>,
    pub(super) wall_loads: Vec<Load<R>>,
    pub(super) body_forces: Vec<BodyForce<R>>,
    pub(super) body_heat: Vec<BodyHeat<R>>,
    pub(super) wall_temperatures: Vec<R>,
    /// The largest overlap so far is in `max_overlap_fraction`.
    pub(super) stats: Stats,
}

impl<R: Real> State<R> {
    /// The state that a model starts from, or has come to: its numbers are those of `state`, more precise where those
    /// of the model round to them.
    pub fn new(model: &Model, state: &Buffers) -> State<R> {
        let mut own = State::of(state);
        own.refine(model, state);
        own
    }

    /// The same from the state alone.
    pub fn of(state: &Buffers) -> State<R> {
        let mut own = State {
            origin: state.origin,
            params: Params::default(),
            identities: Vec::new(),
            movers: state.movers.clone(),
            properties: Vec::new(),
            members: Vec::new(),
            pairs: Vec::new(),
            groups: Vec::new(),
            actions: Vec::new(),
            facets: Vec::new(),
            nodes: Vec::new(),
            samples: Vec::new(),
            bodies: Vec::new(),
            walls: Vec::new(),
            loaded_walls: Vec::new(),
            spheres: Vec::new(),
            buckets: Vec::new(),
            slots: Vec::new(),
            bucket_starts: Vec::new(),
            sorted: Vec::new(),
            neighbour_starts: Vec::new(),
            neighbours: Vec::new(),
            history: Vec::new(),
            sphere_loads: Vec::new(),
            wall_sums: Vec::new(),
            wall_loads: Vec::new(),
            body_forces: Vec::new(),
            body_heat: Vec::new(),
            wall_temperatures: Vec::new(),
            stats: Stats::default(),
        };
        own.take(state);
        own
    }

    /// Becomes `state`, which may have other bodies. What rounds to it already stays what it is.
    pub fn take(&mut self, state: &Buffers) {
        self.keep(&state.identities);
        self.params.take(&state.params);
        self.movers.clone_from(&state.movers);
        self.properties.take(&state.properties);
        self.members.take(&state.members);
        self.pairs.take(&state.pairs);
        self.groups.take(&state.groups);
        self.actions.take(&state.actions);
        self.facets.take_all(state.facets());
        self.nodes.take_all(state.nodes());
        self.samples.take_all(state.samples());
        self.bodies.take(&state.bodies);
        self.walls.take(&state.walls);
        self.loaded_walls.take(&state.loaded_walls);
        self.spheres.take(&state.spheres);
        self.sphere_loads.take(&state.sphere_loads);
        self.wall_loads.take(&state.wall_loads);
        self.body_forces.take(&state.body_forces);
        self.body_heat.take(&state.body_heat);
        self.wall_temperatures.take_all(state.wall_temperatures());
        self.buckets.clone_from(&state.buckets);
        self.slots.clone_from(&state.slots);
        self.bucket_starts.clone_from(&state.bucket_starts);
        self.sorted.clone_from(&state.sorted);
        self.neighbour_starts.clone_from(&state.neighbour_starts);
        self.neighbours.clone_from(&state.neighbours);
        self.wall_sums.clone_from(&state.wall_sums);
        self.stats = state.stats[0];
        self.history
            .resize(state.neighbours.len(), History::default());
        let size = self.params.history_size as usize;
        if size > 0 {
            let elements = state.history.chunks_exact(size);
            for (own, elements) in self.history.iter_mut().zip(elements) {
                own.take(&layout::History::of(elements));
            }
        }
    }

    /// Makes `state`, which has the same bodies, what this rounds to.
    pub fn give(&self, state: &mut Buffers) {
        state.params.neighbour_capacity = self.params.neighbour_capacity;
        self.bodies.give(&mut state.bodies);
        self.walls.give(&mut state.walls);
        self.loaded_walls.give(&mut state.loaded_walls);
        self.spheres.give(&mut state.spheres);
        self.sphere_loads.give(&mut state.sphere_loads);
        self.wall_loads.give(&mut state.wall_loads);
        self.body_forces.give(&mut state.body_forces);
        self.body_heat.give(&mut state.body_heat);
        state.buckets.clone_from(&self.buckets);
        state.slots.clone_from(&self.slots);
        state.bucket_starts.clone_from(&self.bucket_starts);
        state.sorted.clone_from(&self.sorted);
        state.neighbour_starts.clone_from(&self.neighbour_starts);
        state.neighbours.clone_from(&self.neighbours);
        state.wall_sums.clone_from(&self.wall_sums);
        state.stats[0] = self.stats;
        let size = self.params.history_size as usize;
        if size > 0 {
            state
                .history
                .resize((size * self.history.len()).max(1), Vec4::ZERO);
            let elements = state.history.chunks_exact_mut(size);
            for (own, elements) in self.history.iter().zip(elements) {
                let mut history = layout::History::default();
                own.give(&mut history);
                history.write(elements);
            }
        }
    }

    /// World position of a body's centre of mass, m; in the periodic box, if there is one.
    pub fn position(&self, body: usize) -> DVec3 {
        let Body { cell, offset, .. } = self.bodies[body];
        let size = self.params.cell_size;
        self.origin + (Vector::of_cells(cell) * size + offset.metres(size)).exact()
    }

    /// Velocity of a body's centre of mass, m/s.
    pub fn velocity(&self, body: usize) -> DVec3 {
        self.bodies[body].velocity.exact()
    }

    /// Keeps the bodies of these identities, as far as they are there, with what belongs to each. New ones come last.
    fn keep(&mut self, identities: &[Identity]) {
        if self.identities == identities {
            return;
        }
        let old = std::mem::take(&mut self.identities);
        let place = |identity: &Identity| old.binary_search_by_key(&identity.id, |own| own.id).ok();
        let places: Vec<usize> = identities.iter().filter_map(place).collect();
        let loads = places.iter().flat_map(|&place| {
            let body = &self.bodies[place];
            let first = body.first_sphere as usize;
            &self.sphere_loads[first..first + self.kind(body).0.sphere_count as usize]
        });
        self.sphere_loads = loads.copied().collect();
        let forces = places
            .iter()
            .filter_map(|&place| self.body_forces.get(place));
        self.body_forces = forces.copied().collect();
        let heat = places.iter().filter_map(|&place| self.body_heat.get(place));
        self.body_heat = heat.copied().collect();
        self.bodies = places.iter().map(|&place| self.bodies[place]).collect();
        self.identities = identities.to_vec();
    }

    /// The members of a body, and what they are part of.
    pub(super) fn kind(&self, body: &Body<R>) -> (&BodyProperties<R>, &[Member<R>]) {
        let properties = &self.properties[body.kind as usize];
        let members = &self.members[properties.first_member as usize..];
        (properties, &members[..properties.sphere_count as usize])
    }

    /// The entries of the list of a sphere.
    pub(super) fn list(&self, sphere: usize) -> std::ops::Range<usize> {
        self.neighbour_starts[sphere] as usize..self.neighbour_starts[sphere + 1] as usize
    }

    /// Parameters of a contact of two materials.
    pub(super) fn pair(&self, own: u32, other: u32) -> &Pair<R> {
        &self.pairs[(own * self.params.material_count + other) as usize]
    }

    /// Notes an overlap as a fraction of the smaller radius.
    pub(super) fn note_overlap(&mut self, fraction: R) {
        let largest = &mut self.stats.max_overlap_fraction;
        *largest = (*largest).max(fraction.rounded().to_bits());
    }

    /// Takes the model's numbers where those of `state` are what they round to.
    fn refine(&mut self, model: &Model, state: &Buffers) {
        let params = &mut self.params;
        params.gravity = Vector::of(model.gravity);
        params.time_step = R::of(model.time_step);
        params.tangential_damping = R::of(model.contact.tangential_damping);
        if let Some(water) = &model.forces.water {
            params.water_density = R::of(water.density);
            params.water_drag = R::of(water.drag_coefficient);
            params.water_viscosity = R::of(water.viscosity);
            params.water_level = R::of(water.level - state.origin.y);
            for (own, wave) in params.waves.iter_mut().zip(&water.waves) {
                let wave = [wave.vector.x, wave.vector.z, wave.amplitude, wave.frequency];
                *own = wave.map(R::of);
            }
        }
        for (own, law) in self.pairs.iter_mut().zip(&model.pairs) {
            own.refine(law);
        }
        for (own, group) in self.groups.iter_mut().zip(&model.forces.groups) {
            let gravity = group.gravity.map(|gravity| gravity - model.gravity);
            own.gravity = Vector::of(gravity.unwrap_or_default());
            own.drag = R::of(group.drag.linear);
            own.angular_drag = R::of(group.drag.angular);
        }
        for (kind, own) in self.properties.iter_mut().enumerate() {
            // As `state::kinds` counts them.
            let clump = &model.shapes[kind / 2 % model.shapes.len()];
            if kind % 2 == 0 {
                own.inverse_mass = R::of(1.0 / clump.mass);
                own.inverse_inertia = Vector::of(1.0 / clump.inertia);
            }
        }
        let spheres = model.shapes.iter().flat_map(|clump| &clump.spheres);
        for (own, sphere) in self.members.iter_mut().zip(spheres) {
            own.center = Vector::of(sphere.center);
            own.radius = R::of(sphere.radius);
        }
        for (own, identity) in self.bodies.iter_mut().zip(&self.identities) {
            let Some(body) = model.bodies.get(identity.id as usize) else {
                continue;
            };
            let clump = &model.shapes[body.shape];
            own.offset = Place(in_cell(body.position, state).0.to_array().map(R::part));
            let orientation = body.orientation.normalize();
            own.orientation = Orientation(DVec4::from(orientation).to_array().map(R::turn));
            own.velocity = Vector::of(body.velocity);
            own.angular_momentum = Vector::of(angular_momentum(
                orientation,
                clump.inertia,
                body.angular_velocity,
            ));
        }
        self.refine_heat(model);
        self.refine_walls(model, state);
        self.refine_actions(model, state);
        self.take(state);
    }

    fn refine_heat(&mut self, model: &Model) {
        let Some(heat) = &model.heat else {
            return;
        };
        let count = model.materials.len();
        for (index, own) in self.pairs.iter_mut().enumerate() {
            own.conductance = R::of(2.0 * heat.conductivity(index / count, index % count));
        }
        for (own, identity) in self.body_heat.iter_mut().zip(&self.identities) {
            own.inverse_capacity = R::of(1.0 / heat.capacities[identity.shape]);
            if let Some(body) = model.bodies.get(identity.id as usize) {
                own.temperature = R::of(body.temperature);
            }
        }
        for (own, wall) in self.wall_temperatures.iter_mut().zip(&heat.walls) {
            *own = R::of(wall.unwrap_or(-1.0));
        }
    }

    fn refine_walls(&mut self, model: &Model, state: &Buffers) {
        for (index, (own, wall)) in self.walls.iter_mut().zip(&model.walls).enumerate() {
            let moving = wall.at(0.0);
            let orientation = moving.pose.orientation;
            let arm = orientation * state.anchors[index];
            own.offset = Vector::of(in_cell(moving.pose.position + arm, state).1);
            own.orientation = Quaternion::of(orientation);
            own.velocity = Vector::of(moving.velocity + moving.angular_velocity.cross(arm));
            own.angular_velocity = Vector::of(moving.angular_velocity);
            own.belt = Vector::of(wall.belt);
        }
    }

    fn refine_actions(&mut self, model: &Model, state: &Buffers) {
        let of_model = |own: &&mut Action<R>| own.source != APPLIED;
        for own in self.actions.iter_mut().filter(of_model) {
            let source = own.source as usize;
            if own.kind == PUSH || own.kind == THRUST {
                let push = &model.forces.pushes[source];
                own.point = Vector::of(push.point);
                own.vector = Vector::of(push.force);
                own.torque = Vector::of(push.torque);
                own.start = R::of(push.start);
                own.end = R::of(push.end);
                continue;
            }
            let spring = &model.forces.springs[source];
            own.stiffness = R::of(spring.stiffness);
            own.damping = R::of(spring.damping);
            own.length = R::of(spring.length);
            for end in &spring.ends {
                match *end {
                    End::Body { body, point } if body == own.body as usize => {
                        own.point = Vector::of(point);
                    }
                    End::Body { point, .. } => own.vector = Vector::of(point),
                    End::World(place) => own.vector = Vector::of(in_cell(place, state).1),
                }
            }
        }
    }
}

/// A place within its cell, as a part of its sides and in metres.
fn in_cell(place: DVec3, state: &Buffers) -> (DVec3, DVec3) {
    let size = state.params.cell_size.as_dvec3();
    let cells = (place - state.origin) / size;
    let part = cells - cells.floor();
    (part, part * size)
}

fn angular_momentum(orientation: DQuat, inertia: DVec3, spin: DVec3) -> DVec3 {
    orientation * (inertia * (orientation.conjugate() * spin))
}

impl<R: Real> Sphere<R> {
    /// Index of the material.
    pub fn material(&self) -> u32 {
        self.tags & MATERIAL_BITS
    }

    /// Index of the group.
    pub fn group(&self) -> u32 {
        (self.tags & !(ASLEEP | FAST)) >> GROUP_SHIFT
    }

    /// Whether its body sleeps.
    pub fn sleeps(&self) -> bool {
        self.tags & ASLEEP != 0
    }

    /// Whether its body is fast.
    pub fn is_fast(&self) -> bool {
        self.tags & FAST != 0
    }
}

impl<R: Real> SphereLoad<R> {
    /// Whether the load is that of an earlier step.
    pub fn is_kept(&self) -> bool {
        self.contacts & KEPT != 0
    }
}
