//! A [`State`] from a model.

use std::borrow::Cow;

#[cfg(all(feature = "cpu", feature = "gpu"))]
use super::Identity;
use super::bonds::BondEnds;
use super::forces::{actions, groups, waves};
use super::grid::Grid;
use super::kinds::{balls, displacement, fit_tables, kinds};
use super::layout::*;
use super::pairs::{force_unit, pairs, range};
use super::population::Moulds;
use super::walls::{KinematicWalls, Walls, moves, sums_wall_loads};
use super::{Identities, State};
use crate::model::bodies::{Shared, SharedContacts};
use crate::model::flow::Traffic;
use crate::model::forces::Water;
use crate::model::{ContactHistory, Integrator, Law, Model};
use glam::{IVec3, Vec2, Vec3};

/// Steps for which the skin of a body that is not fast lasts at least: about as long as that of the fastest
/// does in a pile that has come to rest.
const SLOW_STEPS: f64 = 80.0;

impl State {
    /// The start of a simulation of `model`.
    ///
    /// # Panics
    /// If its domain is narrower than [`least_period`](super::least_period) along a periodic axis.
    pub fn new(model: &Model) -> State {
        let mut state = State::without_bodies(model);
        state.reserve(model.bodies.len());
        let moulds = Moulds::new(model, &state);
        model.bodies.visit(|body| {
            let id = state.identities.len() as u64;
            state.push(&moulds, id, body);
        });
        state.fit();
        state.begin(model);
        state.set_bonds(BondEnds::of(model).at(0..u32::MAX));
        if let Some(history) = state.contacts_before(model) {
            state.start_with(&history);
        }
        state
    }

    /// The start of a simulation of `model` whose bodies are elsewhere: see [`State::free`].
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn without_elements(model: &Model) -> State {
        let mut identities = Identities::default();
        model.bodies.visit(|body| {
            let id = identities.len() as u64;
            identities.push(Identity::of(id, body));
        });
        let mut state = State::free_with(model, identities, model.sphere_count() as u32);
        if let Some(count) = state.count_contacts_before(model) {
            (state.params.neighbour_capacity, state.stats[0].neighbours) = (count, count);
        }
        state
    }

    /// The contacts that the first bodies of a model bring from another run, if the law keeps as much of them.
    fn contacts_before<'a>(&self, model: &'a Model) -> Option<Cow<'a, ContactHistory>> {
        let shared = || Some(Cow::Owned(self.shared_contacts_before(model)?.0.history()?));
        let listed = self.listed_contacts_before(model).map(Cow::Borrowed);
        listed.or_else(shared)
    }

    /// The contacts of bodies in a list.
    pub(crate) fn listed_contacts_before<'a>(
        &self,
        model: &'a Model,
    ) -> Option<&'a ContactHistory> {
        let size = self.params.history_size;
        model.history.as_ref().filter(|own| own.size == size)
    }

    /// The bodies of which each process has a share, with the contacts that they bring.
    fn shared_contacts_before<'a>(&self, model: &'a Model) -> Option<(&'a Shared, SharedContacts)> {
        let size = self.params.history_size;
        let shared = model.bodies.contacts();
        shared.filter(|(_, contacts)| contacts.size == size)
    }

    /// Number of these contacts, those of both sides.
    #[cfg(all(feature = "cpu", feature = "gpu"))]
    pub(crate) fn count_contacts_before(&self, model: &Model) -> Option<u32> {
        let listed = self.listed_contacts_before(model);
        let shared = || Some(self.shared_contacts_before(model)?.1.count);
        listed.map(|own| own.entries.len() as u32).or_else(shared)
    }

    /// The start of a simulation of `model` with other bodies, which have so many spheres and are elsewhere: see [`State::free`].
    pub(crate) fn free_with(model: &Model, identities: Identities, spheres: u32) -> State {
        let mut state = State::without_bodies(model);
        state.set_counts(identities.len() as u32, spheres);
        state.identities = identities;
        state.params.bond_count = 2 * model.bonds.len() as u32;
        state.begin(model);
        state.stats[0].stale = 1;
        state
    }

    /// The start of a simulation of `model` before it has bodies.
    fn without_bodies(model: &Model) -> State {
        let grid = Grid::new(model);
        let Grid {
            finest,
            level_count,
            skin,
            slow_skin,
            touch_margin,
            cell_size,
            period,
            origin,
        } = grid;
        let pairs = pairs(model);
        let walls = Walls::new(model, &grid, &pairs);
        let water = model.forces.water.clone().unwrap_or(Water {
            level: 0.0,
            density: 0.0,
            drag_coefficient: 0.0,
            viscosity: 0.0,
            waves: Vec::new(),
        });
        let (properties, members) = kinds(model);
        let balls = balls(&properties, &members);
        State {
            origin,
            traffic: Traffic::new(model),
            params: Params {
                gravity: model.gravity.as_vec3(),
                time_step: model.time_step as f32,
                cell_size,
                level_count,
                period,
                skin,
                slow_skin,
                fast_displacement: 0.5 * (slow_skin - touch_margin) / SLOW_STEPS as f32,
                displacement_limit: 0.499 * (skin - touch_margin),
                touch_margin,
                foresight: match model.contact.law {
                    Law::Impulse => model.time_step as f32,
                    _ => 0.0,
                },
                finest,
                neighbour_capacity: 0,
                ring_start: 0,
                slice_length: 0,
                body_count: 0,
                sphere_count: 0,
                bucket_count: 0,
                wall_count: model.walls.len() as u32,
                material_count: model.materials.len() as u32,
                integrator: match model.integrator {
                    Integrator::SemiImplicit => SEMI_IMPLICIT,
                    Integrator::Explicit => EXPLICIT,
                },
                law: match model.contact.law {
                    Law::HookeViscous => HOOKE_VISCOUS,
                    Law::HookeHistory => HOOKE_HISTORY,
                    Law::HertzMindlin => HERTZ_MINDLIN,
                    Law::Custom(_) => CUSTOM,
                    Law::Impulse => IMPULSE,
                },
                history_size: History::size(model),
                history_values: History::used(model),
                facet_kinds: walls.facet_kinds,
                balls: balls.is_some().into(),
                clumps: fit_tables(&properties, &members).into(),
                limit_damping: model.contact.limit_damping.into(),
                rescales: model.contact.rescales.into(),
                tangential_damping: model.contact.tangential_damping as f32,
                // Impulses stop what would touch before the step is over.
                cohesive: (range(model) > 0.0 || model.contact.law == Law::Impulse).into(),
                lookahead: 0.0,
                facet_start: walls.facet_start as u32,
                node_start: walls.node_start as u32,
                sample_start: walls.sample_start as u32,
                wall_loads: u32::from(sums_wall_loads(model)),
                stripes: 0,
                force_unit: force_unit(&pairs, model),
                torque_unit: force_unit(&pairs, model) * walls.arm,
                pulled: 0,
                pull_stiffness: 0.0,
                pull_damping: 0.0,
                pull_point: Vec3::ZERO,
                pull_cell: IVec3::ZERO,
                pull_offset: Vec3::ZERO,
                forces: model.forces_act().into(),
                action_count: 0,
                bonds: (!model.bonds.is_empty()).into(),
                bond_count: 0,
                heat: model.heat.is_some().into(),
                temperature_start: walls.temperature_start as u32,
                sleep_steps: model.sleep.map_or(0, |sleep| {
                    ((sleep.after / model.time_step).ceil() as u32).clamp(1, longest_rest(model))
                }),
                sleep_speed: model.sleep.map_or(0.0, |sleep| sleep.speed as f32),
                wake_acceleration: model.sleep.map_or(0.0, |sleep| sleep.wake as f32),
                moving_walls: model.walls.iter().any(moves).into(),
                wave_count: water.waves.len() as u32,
                water_density: water.density as f32,
                water_drag: water.drag_coefficient as f32,
                water_viscosity: water.viscosity as f32,
                water_level: (water.level - origin.y) as f32,
                earlier: 0.0,
                wave_origin: Vec2::new(origin.x as f32, origin.z as f32),
                waves: waves(&water),
                // See `set_deformation`, below.
                deforms: 0,
                strain_rate: Vec3::ZERO,
                first_step: 0,
                gradient: Vec3::ZERO,
                stretch: 0.0,
                shear_rate: Vec3::ZERO,
                first_cell_size: cell_size,
                growth: Vec3::ZERO,
                tilt: Vec3::ZERO,
                first_tilt: Vec3::ZERO,
                tilting: Vec3::ZERO,
                ghosts: 0,
            },
            groups: groups(model),
            displacements: match model.forces.water {
                Some(_) => model.shapes.iter().map(displacement).collect(),
                None => Vec::new(),
            },
            pairs,
            geometry: walls.geometry,
            walls: walls.walls,
            dynamic_walls: walls.dynamic,
            kinematic_walls: KinematicWalls {
                walls: walls.kinematic,
                given: Default::default(),
                time_step: model.time_step,
                earlier: 0.0,
                origin,
                cell_size: cell_size.as_dvec3(),
                period,
            },
            anchors: walls.anchors,
            wall_loads: vec![SummedLoad::default(); model.walls.len().max(1)],
            stats: vec![Stats::default()],
            properties,
            members,
            balls: balls.unwrap_or_else(|| vec![BallKind::default(); MAX_KINDS]),
            ..State::default()
        }
    }

    /// Adds what acts on bodies, and the box that deforms: bodies have their places before.
    fn begin(&mut self, model: &Model) {
        self.set_actions(actions(model, &Grid::new(model)));
        if let Some(now) = self.traffic.deformation {
            self.set_deformation(model, &now, 0);
        }
    }
}

/// Steps for which a body may be at rest before it falls asleep.
fn longest_rest(model: &Model) -> u32 {
    match model.contact.law {
        Law::Impulse => (1 << SHARES_SHIFT) - 1,
        _ => u32::MAX,
    }
}
