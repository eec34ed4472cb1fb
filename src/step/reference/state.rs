//! The state of the reference: what [`crate::state::State`] has, in either precision.

use glam::{DQuat, DVec3, DVec4, Vec4};

pub use super::bonds::{BodyBonds, Bond};
pub use super::contact::{History, Pair};
use super::grid::Place;
pub use super::heat::BodyHeat;
pub use super::mirror::{
    Action, Body, BodyForce, BodyProperties, DynamicWall, Facet, Group, Member, Node, Params,
    Sphere, SphereLoad, SummedLoad, Wall,
};
use super::mirror::{Mirror, TakeAll};
use super::real::Real;
use super::rotation::{Orientation, Quaternion};
use super::vector::Vector;
use crate::model::Model;
use crate::model::forces::End;
use crate::state::layout::{
    self, APPLIED, ASLEEP, DISTURBED, FAST, GHOST, GROUP_SHIFT, KEPT, MATERIAL_BITS, PUSH, Stats,
    THRUST,
};
use crate::state::{Identities, Identity, KinematicWalls, State as Buffers};

/// The state of the reference: what is like nothing else; buffers that have their structs in either precision; and
/// buffers of integers, which are copied.
macro_rules! state {
    (
        { $($(#[$doc:meta])* $other:ident: $Other:ty,)* }
        mirrored { $($mirrored:ident: $Mirror:ident,)* }
        copied { $($copied:ident: $Copied:ident,)* }
    ) => {
        /// All that the passes of the reference read and write; see the fields of [`crate::state::State`].
        #[derive(Clone, Debug, Default)]
        pub struct State<R: Real> {
            $($(#[$doc])* pub(super) $other: $Other,)*
            $(pub(super) $mirrored: Vec<$Mirror<R>>,)*
            $(pub(super) $copied: Vec<$Copied>,)*
        }

        impl<R: Real> State<R> {
            fn take_buffers(&mut self, state: &Buffers) {
                $(self.$mirrored.take(&state.$mirrored);)*
                $(self.$copied.clone_from(&state.$copied);)*
            }

            fn give_buffers(&self, state: &mut Buffers) {
                $(self.$mirrored.give(&mut state.$mirrored);)*
                $(state.$copied.clone_from(&self.$copied);)*
            }
        }
    };
}

state! {
    {
        origin: DVec3,
        params: Params<R>,
        identities: Vec<Identity>,
        kinematic_walls: KinematicWalls,
        facets: Vec<Facet<R>>,
        nodes: Vec<Node<R>>,
        samples: Vec<R>,
        wall_temperatures: Vec<R>,
        /// History of each entry of `neighbours`.
        history: Vec<History<R>>,
        /// The largest overlap so far is in `max_overlap_fraction`.
        stats: Stats,
    }
    mirrored {
        properties: BodyProperties,
        members: Member,
        pairs: Pair,
        groups: Group,
        actions: Action,
        bonds: Bond,
        bodies: Body,
        walls: Wall,
        dynamic_walls: DynamicWall,
        spheres: Sphere,
        sphere_loads: SphereLoad,
        wall_loads: SummedLoad,
        body_forces: BodyForce,
        body_heat: BodyHeat,
        body_bonds: BodyBonds,
    }
    copied {
        buckets: u32,
        slots: u32,
        bucket_starts: u32,
        sorted: u32,
        neighbour_starts: u32,
        neighbours: u32,
        wall_sums: i32,
    }
}

impl<R: Real> State<R> {
    /// The state that a model starts from, or has come to: its numbers are those of `state`, more precise where those
    /// of the model round to them.
    pub fn new(model: &Model, state: &Buffers) -> State<R> {
        let mut own = State::of(state);
        own.refine(model, state);
        own
    }

    /// The reference's state from that of the engines alone.
    pub fn of(state: &Buffers) -> State<R> {
        let mut own = State {
            origin: state.origin,
            ..State::default()
        };
        own.take(state);
        own
    }

    /// Becomes `state`, which may have other bodies. What rounds to it already stays what it is.
    pub fn take(&mut self, state: &Buffers) {
        self.keep(&state.identities);
        self.params.take(&state.params);
        self.kinematic_walls.clone_from(&state.kinematic_walls);
        self.take_buffers(state);
        self.facets.take_all(state.facets());
        self.nodes.take_all(state.nodes());
        self.samples.take_all(state.samples());
        self.wall_temperatures.take_all(state.wall_temperatures());
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
        self.give_buffers(state);
        state.stats[0] = self.stats;
        // The host has the box as it was in the last step.
        state.params.deform(self.stats.step);
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
    fn keep(&mut self, identities: &Identities) {
        if identities.iter().eq(self.identities.iter().copied()) {
            return;
        }
        let old = std::mem::take(&mut self.identities);
        let place = |identity: Identity| old.binary_search_by_key(&identity.id, |own| own.id).ok();
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
        let bonds = places
            .iter()
            .filter_map(|&place| self.body_bonds.get(place));
        self.body_bonds = bonds.copied().collect();
        self.bodies = places.iter().map(|&place| self.bodies[place]).collect();
        self.identities = identities.iter().collect();
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
        let groups = model.forces.groups.len().max(1);
        let kinds = 2 * groups * model.shapes.len();
        for (kind, own) in self.properties.iter_mut().take(kinds).enumerate() {
            // As `state::kinds` counts them; those of kinematic bodies come after them, and are whole numbers.
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
                if body.fixed {
                    DVec3::ONE
                } else {
                    clump.inertia
                },
                body.angular_velocity,
            ));
        }
        self.refine_heat(model);
        self.refine_walls(model, state);
        self.refine_actions(model, state);
        self.refine_bonds(model);
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
                own.temperature = R::of(body.quantities.temperature);
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

    fn refine_bonds(&mut self, model: &Model) {
        let along = |[first, other]: [f64; 2]| Vector::of(DVec3::new(first, other, other));
        for own in &mut self.bonds {
            let Some(bond) = model.bonds.get(own.source as usize) else {
                continue;
            };
            own.first_arm = Vector::of(bond.arms[0]);
            own.second_arm = Vector::of(bond.arms[1]);
            own.first_frame = Quaternion::of(bond.frames[0]);
            own.second_frame = Quaternion::of(bond.frames[1]);
            own.stiffness = along(bond.stiffness);
            own.turning_stiffness = along(bond.turning_stiffness);
            own.damping = along(bond.damping);
            own.turning_damping = along(bond.turning_damping);
            own.inverse_area = R::of(1.0 / bond.area());
            own.inverse_section = R::of(1.0 / bond.section_modulus());
            [own.first_length, own.second_length] = bond.to_middle().map(R::of);
            [own.healing_reach, own.healing_time] = bond.healing_numbers().map(R::of);
            if bond.tensile_strength.is_finite() {
                own.tensile_strength = R::of(bond.tensile_strength);
            }
            if bond.shear_strength.is_finite() {
                own.shear_strength = R::of(bond.shear_strength);
            }
        }
    }

    fn refine_actions(&mut self, model: &Model, state: &Buffers) {
        let of_model = |own: &&mut Action<R>| own.source != APPLIED;
        for own in self.actions.iter_mut().filter(of_model) {
            let source = own.source as usize;
            if own.kind == PUSH || own.kind == THRUST {
                let push = &model.forces.applied[source];
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
            own.rest_length = R::of(spring.rest_length);
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
        (self.tags & !(ASLEEP | FAST | GHOST)) >> GROUP_SHIFT
    }

    /// Whether another rank of a cluster steps its body.
    pub fn is_ghost(&self) -> bool {
        self.tags & GHOST != 0
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

impl<R: Real> BodyProperties<R> {
    /// Whether another rank of a cluster steps bodies of this kind.
    pub fn is_ghost(&self) -> bool {
        self.group & (GHOST >> GROUP_SHIFT) != 0
    }
}

impl<R: Real> SphereLoad<R> {
    /// Number of contacts.
    pub fn touches(&self) -> u32 {
        (self.contacts & 0xffff) + ((self.contacts & !(KEPT | DISTURBED)) >> 16)
    }

    /// Whether the load is that of an earlier step.
    pub fn is_kept(&self) -> bool {
        self.contacts & KEPT != 0
    }

    /// Whether the next load must be a new one.
    pub fn is_disturbed(&self) -> bool {
        self.contacts & DISTURBED != 0
    }
}
