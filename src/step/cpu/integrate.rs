//! Pass `integrate`: moves bodies, 16 or 128 side by side, and walls.

use bytemuck::{cast_slice, cast_slice_mut};
use glam::{IVec3, UVec3, UVec4, Vec3};
#[cfg(not(simd = "portable"))]
use multiversion::multiversion;

use super::GRAIN;
use super::ball_block::{aligned, kinds_of, loads_side_by_side, side_by_side_mut};
use super::lanes::{LANES, Soa4, WIDTH, read_four, write_four};
use crate::math::each::{Each, for_each_pair};
use crate::math::grid::{is_sane, travel};
use crate::math::parallel::prelude::*;
use crate::math::rotation::{MOST_TURN, Quaternion, advance, angular_velocity, is_round};
use crate::math::rounding::{self, dither};
use crate::state::layout::{
    ASLEEP, Body, BodyForce, BodyProperties, DISTURBED, IMPULSE, KEPT, Load, Member, Params,
    SEMI_IMPLICIT, SHARES, SphereLoad, shared,
};
use crate::state::{State, load};
use crate::step::pull::pulled;
use crate::step::wall_motion::move_walls;

/// Sums the spheres of each body and moves it by one time step; and moves the walls.
pub fn integrate(state: &mut State) {
    let step = begin(state);
    let State {
        params,
        bodies,
        properties,
        members,
        sphere_loads,
        body_forces,
        ..
    } = state;
    let kinds = Kinds::new(properties, members);
    let moved = bodies
        .par_chunks_mut(GRAIN)
        .enumerate()
        .map_init(IntegrateScratch::default, |scratch, (chunk, bodies)| {
            let first = chunk * GRAIN;
            let forces = match params.forces {
                0 => &[],
                _ => &body_forces[first..first + bodies.len()],
            };
            let some = Bodies {
                first,
                bodies,
                loads: sphere_loads,
                first_sphere: 0,
                forces,
            };
            integrate_some(&step, kinds, some, scratch)
        })
        .reduce(Moved::default, Moved::and);
    end(state, moved);
}

/// Begins the pass: pulls the body that is pulled.
pub(super) fn begin(state: &mut State) -> Step {
    let State {
        params,
        bodies,
        properties,
        stats,
        ..
    } = state;
    if let Some(index) = (params.pulled as usize).checked_sub(1)
        && let body = &mut bodies[index]
        && let properties = &properties[body.kind as usize]
        && properties.inverse_mass > 0.0
    {
        *body = pulled(*body, properties, params);
    }
    Step {
        params: *params,
        rebuilding: stats[0].rebuilding == 1,
        step: stats[0].step,
        shares: if params.law == IMPULSE { SHARES } else { 0 },
        dither: dither(stats[0].step),
    }
}

/// Ends the pass: moves walls, and counts the step.
pub(super) fn end(state: &mut State, moved: Moved) {
    let walls_stale = move_walls(state);
    let stats = &mut state.stats[0];
    stats.runaway = stats.runaway.max(moved.runaway);
    stats.stale = (moved.stale || walls_stale).into();
    stats.steps = stats.steps.wrapping_add(1);
}

/// Whether bodies have moved too far.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    /// The last one that is lost, counted from 1; 0 if none is.
    runaway: u32,
    /// Whether one may have left the skin of the neighbour lists.
    stale: bool,
}

impl Moved {
    /// Makes the value for no body as yet.
    fn new(step: &Step) -> Moved {
        Moved {
            runaway: 0,
            stale: step.params.displacement_limit < 0.0,
        }
    }

    pub fn is_lost(&self) -> bool {
        self.runaway != 0
    }

    pub fn and(self, other: Moved) -> Moved {
        Moved {
            runaway: self.runaway.max(other.runaway),
            stale: self.stale || other.stale,
        }
    }
}

/// The kinds of bodies: their properties and spheres.
#[derive(Clone, Copy)]
pub(super) struct Kinds<'a> {
    pub properties: &'a [BodyProperties],
    pub members: &'a [Member],
    /// Number of kinds that are not of ghosts. Those of ghosts follow in the same order, if there are any.
    own: u32,
}

impl<'a> From<&'a State> for Kinds<'a> {
    fn from(state: &'a State) -> Kinds<'a> {
        Kinds::new(&state.properties, &state.members)
    }
}

impl<'a> Kinds<'a> {
    fn new(properties: &'a [BodyProperties], members: &'a [Member]) -> Kinds<'a> {
        let own = properties.partition_point(|own| !own.is_ghost());
        Kinds {
            properties,
            members,
            own: own as u32,
        }
    }

    /// Whether bodies of a kind are ghosts.
    #[inline(always)]
    pub fn are_ghosts(&self, kind: u32) -> bool {
        kind >= self.own
    }

    /// A kind that is the same but for not being one of ghosts: lanes of the same kinds need not be told anew what these are, and
    /// ghosts are scattered among the other bodies.
    #[inline(always)]
    pub fn but_for_ghosts(&self, kind: u32) -> u32 {
        if self.are_ghosts(kind) {
            kind - self.own
        } else {
            kind
        }
    }

    #[inline(always)]
    fn of(&self, body: &Body) -> (&'a BodyProperties, &'a [Member]) {
        let properties = &self.properties[body.kind as usize];
        let members = &self.members[properties.first_member as usize..];
        (properties, &members[..properties.sphere_count as usize])
    }

    /// Which of them are single spheres about their centres.
    pub fn balls(&self) -> impl Iterator<Item = bool> {
        self.properties.iter().map(|own| {
            own.sphere_count == 1
                && self.members[own.first_member as usize].center == Vec3::ZERO
                && is_round(own.inverse_inertia)
        })
    }
}

/// Constants of a step.
#[derive(Clone, Copy)]
pub(super) struct Step {
    params: Params,
    /// Whether the neighbour lists were built in it.
    rebuilding: bool,
    /// Its number.
    step: u32,
    /// The bits of [`Body::still`] that count contacts; none but with the law [`IMPULSE`].
    shares: u32,
    /// Fraction from which rounding goes up.
    dither: f32,
}

impl Step {
    /// The displacement bound of a body before it moves, without its sign.
    #[inline(always)]
    fn displacement_before(&self, displacement_bound: f32) -> f32 {
        if !self.rebuilding {
            displacement_bound.abs()
        } else if displacement_bound.is_sign_negative() {
            0.0
        } else {
            0.5 * (self.params.skin - self.params.slow_skin)
        }
    }
}

/// Bodies one after the other.
pub(super) struct Bodies<'a> {
    /// Index of the first.
    pub first: usize,
    pub bodies: &'a mut [Body],
    /// Loads on spheres, from [`Bodies::first_sphere`] on.
    pub loads: &'a [SphereLoad],
    pub first_sphere: usize,
    /// Forces on each body, or none at all.
    pub forces: &'a [BodyForce],
}

/// Moves bodies, with what is on their spheres.
#[cfg_attr(
    simd = "avx512",
    multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))
)]
#[cfg_attr(simd = "avx2", multiversion(targets("x86_64+avx2")))]
pub(super) fn integrate_some(
    step: &Step,
    kinds: Kinds,
    some: Bodies,
    scratch: &mut IntegrateScratch,
) -> Moved {
    let Bodies {
        first,
        bodies,
        loads,
        first_sphere,
        forces,
    } = some;
    let IntegrateScratch {
        gathered,
        lanes,
        sums,
        awake,
        ..
    } = scratch;
    let mut moved = Moved::new(step);
    lanes.kinds = None;
    if forces.is_empty() {
        lanes.forces = [Soa4::ZERO; 3];
    }
    for (chunk, bodies) in bodies.chunks_mut(LANES).enumerate() {
        let forces = forces.get(chunk * LANES..).unwrap_or(&[]);
        let forces = &forces[..forces.len().min(LANES)];
        let mut loads = &loads[bodies[0].first_sphere as usize - first_sphere..];
        for_each_pair(sums, bodies, |sum, body| {
            let (_, members) = kinds.of(body);
            let own;
            (own, loads) = loads.split_at(members.len());
            *sum = load(body, members, own);
        });
        let lost = if step.params.sleep_steps == 0 {
            let marks = gathered.integrate(lanes, bodies, sums, forces, kinds, step);
            moved.stale |= marks.stale;
            marks.lost
        } else {
            moved.stale |= awake.gather(bodies, sums, forces, kinds, step);
            let Awake {
                places,
                bodies: own,
                forces,
            } = awake;
            let marks = gathered.integrate(lanes, own, sums, forces, kinds, step);
            moved.stale |= marks.stale;
            for (index, &place) in places.iter().enumerate() {
                bodies[place] = rest(&own[index], kinds, step);
            }
            marks.lost.map(|lane| places[lane])
        };
        if let Some(place) = lost {
            moved.runaway = (first + chunk * LANES + place) as u32 + 1;
        }
    }
    moved
}

/// Moves balls that are side by side, with what is on them; the first of them has the index `first`.
#[cfg_attr(
    simd = "avx512",
    multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))
)]
#[cfg_attr(simd = "avx2", multiversion(targets("x86_64+avx2")))]
pub(super) fn integrate_balls(
    step: &Step,
    kinds: Kinds,
    bodies: &mut [Body],
    loads: &[SphereLoad],
    first: usize,
    scratch: &mut IntegrateScratch,
) -> Moved {
    let mut moved = Moved::new(step);
    let lanes = &mut scratch.side_by_side;
    lanes.kinds = None;
    let loads = loads_side_by_side(loads);
    for (block, own) in side_by_side_mut(bodies).iter_mut().enumerate() {
        // Copies, aligned as vectors like it.
        let mut bodies = aligned(own);
        let [forces, torques, _] = &loads[block];
        let loads = [Soa4(*forces), Soa4(*torques)];
        let marks = lanes.integrate(&mut bodies, &loads, WIDTH, kinds, step);
        for_each_pair(own, &bodies, |own, columns| *own = columns.0);
        moved.stale |= marks.stale;
        if let Some(lane) = marks.lost {
            moved.runaway = (first + block * WIDTH + lane) as u32 + 1;
        }
    }
    moved
}

/// Bodies that have to be moved, of those that may sleep.
#[derive(Default)]
struct Awake {
    places: Vec<usize>,
    bodies: Vec<Body>,
    forces: Vec<BodyForce>,
}

impl Awake {
    /// Gathers those of `bodies` that are awake or wake now, and moves their `sums` to the front. The others sleep on:
    /// returns whether one of them may have left the skin of the neighbour lists.
    #[inline(always)]
    fn gather(
        &mut self,
        bodies: &mut [Body],
        sums: &mut [Load],
        forces: &[BodyForce],
        kinds: Kinds,
        step: &Step,
    ) -> bool {
        self.places.clear();
        self.bodies.clear();
        self.forces.clear();
        let mut stale = false;
        for (place, body) in bodies.iter_mut().enumerate() {
            let force = forces.get(place);
            let asleep = body.still & ASLEEP != 0;
            if asleep && sleeps_on(body, &sums[place], force, kinds, step) {
                body.displacement_bound = step.displacement_before(body.displacement_bound);
                stale |= body.displacement_bound > step.params.displacement_limit;
                continue;
            }
            sums[self.places.len()] = sums[place];
            self.places.push(place);
            self.bodies.push(Body {
                still: if asleep {
                    body.still & step.shares
                } else {
                    body.still
                },
                ..*body
            });
            self.forces.extend(force);
        }
        stale
    }
}

/// Whether what acts on a body that sleeps is too little to wake it.
#[inline(always)]
fn sleeps_on(
    body: &Body,
    load: &Load,
    other: Option<&BodyForce>,
    kinds: Kinds,
    step: &Step,
) -> bool {
    let (properties, members) = kinds.of(body);
    let farthest = properties.reach + members[0].radius;
    let (mut force, mut torque, mut gravity) = (load.force, load.torque, step.params.gravity);
    if let Some(other) = other {
        force += other.force;
        torque += other.torque;
        gravity += other.acceleration;
    }
    let acceleration = force * properties.inverse_mass + gravity;
    let orientation = Quaternion::of(body.orientation);
    let twist = angular_velocity(orientation, torque, properties.inverse_inertia);
    acceleration.length() + farthest * twist.length() <= step.params.wake_acceleration
}

/// All that acts on a body in a step.
#[derive(Clone, Copy)]
struct NetForce {
    /// N.
    force: Vec3,
    /// About the centre of mass, N m.
    torque: Vec3,
    /// m/s².
    gravity: Vec3,
}

impl NetForce {
    const NONE: NetForce = NetForce {
        force: Vec3::ZERO,
        torque: Vec3::ZERO,
        gravity: Vec3::ZERO,
    };

    #[inline(always)]
    fn new<const COUNT: usize>(
        loads: &[Soa4<COUNT>; 2],
        forces: &[Soa4<COUNT>; 3],
        lane: usize,
        step: &Step,
    ) -> NetForce {
        NetForce {
            force: loads[0].get(lane).0 + forces[0].get(lane).0,
            torque: loads[1].get(lane).0 + forces[1].get(lane).0,
            gravity: step.params.gravity + forces[2].get(lane).0,
        }
    }
}

/// Room to move bodies in.
pub(super) struct IntegrateScratch {
    gathered: Gathered,
    lanes: BodyLanes<LANES>,
    /// Loads on each body.
    sums: [Load; LANES],
    awake: Awake,
    /// For balls.
    side_by_side: BodyLanes<WIDTH>,
}

impl Default for IntegrateScratch {
    fn default() -> IntegrateScratch {
        IntegrateScratch {
            gathered: Gathered {
                bodies: [Soa4::ZERO; 5],
                loads: [Soa4::ZERO; 2],
            },
            lanes: BodyLanes::default(),
            sums: [Load::default(); LANES],
            awake: Awake::default(),
            side_by_side: BodyLanes::default(),
        }
    }
}

/// Bodies and the forces and torques of contacts, value by value.
struct Gathered {
    bodies: [Soa4; 5],
    loads: [Soa4; 2],
}

impl Gathered {
    /// Moves bodies, on which `loads` and `forces` act.
    #[inline(always)]
    fn integrate(
        &mut self,
        lanes: &mut BodyLanes<LANES>,
        bodies: &mut [Body],
        loads: &[Load],
        forces: &[BodyForce],
        kinds: Kinds,
        step: &Step,
    ) -> Marks {
        if bodies.is_empty() {
            return Marks::default();
        }
        let own = cast_slice_mut::<_, [[f32; 4]; 5]>(bodies);
        let [a, b, c, d, last] = &mut self.bodies;
        read_four([a, b, c, d], own, 0);
        last.read(own, 4);
        let loads = cast_slice::<_, [[f32; 4]; 2]>(&loads[..own.len()]);
        for (row, columns) in self.loads.iter_mut().enumerate() {
            columns.read(loads, row);
        }
        let forces = cast_slice::<_, [[f32; 4]; 4]>(forces);
        for (row, columns) in lanes.forces.iter_mut().enumerate() {
            columns.read(forces, row);
        }
        let marks = lanes.integrate(&mut self.bodies, &self.loads, own.len(), kinds, step);
        let [a, b, c, d, last] = &self.bodies;
        write_four([a, b, c, d], own, 0);
        last.write(own, 4);
        marks
    }
}

/// Whether bodies side by side have moved too far.
#[derive(Clone, Copy, Default)]
struct Marks {
    /// The last lane whose body is lost.
    lost: Option<usize>,
    /// Whether one may have left the skin of the neighbour lists.
    stale: bool,
}

/// Bodies side by side, and what their lanes need to be moved.
struct BodyLanes<const COUNT: usize> {
    properties: [Soa4<COUNT>; 3],
    /// The kinds of which these are, and whether all of them have three equal moments.
    kinds: Option<([u32; COUNT], bool)>,
    /// Force, torque and acceleration of [`BodyForce`], added to the others.
    forces: [Soa4<COUNT>; 3],
    /// 1 where a body moves too far to be followed.
    lost: [u32; COUNT],
    /// 1 where a body may have left the skin of the neighbour lists.
    stale: [u32; COUNT],
}

impl<const COUNT: usize> Default for BodyLanes<COUNT> {
    fn default() -> Self {
        BodyLanes {
            properties: [Soa4::ZERO; 3],
            kinds: None,
            forces: [Soa4::ZERO; 3],
            lost: [0; COUNT],
            stale: [0; COUNT],
        }
    }
}

impl<const COUNT: usize> BodyLanes<COUNT> {
    /// Moves the first `count` of the bodies, on which `loads` act, and `self.forces`.
    #[inline(always)]
    fn integrate(
        &mut self,
        bodies: &mut [Soa4<COUNT>; 5],
        loads: &[Soa4<COUNT>; 2],
        count: usize,
        kinds: Kinds,
        step: &Step,
    ) -> Marks {
        let round = self.set_kinds(bodies, count, kinds);
        match (step.params.period == IVec3::ZERO, round) {
            (true, true) => self.advance::<false, true>(bodies, loads, kinds, step),
            (true, false) => self.advance::<false, false>(bodies, loads, kinds, step),
            (false, true) => self.advance::<true, true>(bodies, loads, kinds, step),
            (false, false) => self.advance::<true, false>(bodies, loads, kinds, step),
        }
        let any = |marks: &[u32; COUNT]| {
            let own = (0..COUNT).map(|lane| if lane < count { marks[lane] } else { 0 });
            own.fold(0, |any, mark| any | mark) != 0
        };
        let lost = any(&self.lost).then(|| self.lost[..count].iter().rposition(|&lost| lost > 0));
        Marks {
            lost: lost.flatten(),
            stale: any(&self.stale),
        }
    }

    /// Takes over the properties of the first `count` bodies. Returns whether all have three equal moments.
    #[inline(always)]
    fn set_kinds(&mut self, bodies: &[Soa4<COUNT>; 5], count: usize, kinds: Kinds) -> bool {
        let those = kinds_of(bodies, count).each(|kind| kinds.but_for_ghosts(kind));
        if let Some((known, round)) = self.kinds
            && known == those
        {
            return round;
        }
        let own = those.each(|kind| kinds.properties[kind as usize]);
        let round = own.iter().all(|own| is_round(own.inverse_inertia));
        for (row, columns) in self.properties.iter_mut().enumerate() {
            columns.read(cast_slice::<_, [[f32; 4]; 3]>(&own), row);
        }
        self.kinds = Some((those, round));
        round
    }

    #[inline(always)]
    fn advance<const PERIODIC: bool, const ROUND: bool>(
        &mut self,
        bodies: &mut [Soa4<COUNT>; 5],
        loads: &[Soa4<COUNT>; 2],
        kinds: Kinds,
        step: &Step,
    ) {
        let mut step = *step;
        if !PERIODIC {
            (step.params.period, step.params.deforms) = (IVec3::ZERO, 0);
        }
        let [offsets, cells, orientations, velocities, momenta] = bodies;
        for lane in 0..COUNT {
            let (angular_momentum, displacement_bound) = momenta.get(lane);
            let [x, y, z, w] = orientations.bits(lane);
            let [offset_x, offset_y, offset_z, still] = offsets.bits(lane);
            let [cell_x, cell_y, cell_z, kind] = cells.bits(lane);
            let (inverse_inertia, inverse_mass) = if kinds.are_ghosts(kind) {
                // Who steps it says where it goes.
                (Vec3::ZERO, 0.0)
            } else {
                self.properties[0].get(lane)
            };
            let still = if step.shares == 0 || inverse_mass == 0.0 {
                still
            } else {
                let [.., contacts] = loads[1].bits(lane);
                let contacts = (contacts & 0xffff) + ((contacts & !(KEPT | DISTURBED)) >> 16);
                let [_, landing, ..] = self.properties[2].bits(lane);
                still & !SHARES | shared(still, landing, contacts, step.step)
            };
            let [.., first_sphere] = velocities.bits(lane);
            let body = Body {
                offset: UVec3::new(offset_x, offset_y, offset_z),
                still,
                cell: UVec3::new(cell_x, cell_y, cell_z).as_ivec3(),
                kind,
                orientation: UVec4::new(x, y, z, w).as_ivec4(),
                velocity: velocities.get(lane).0,
                first_sphere,
                angular_momentum,
                displacement_bound: step.displacement_before(displacement_bound),
            };
            let reach = self.properties[1].0[2][lane];
            let (moved, lost) = advance_body::<ROUND>(
                &body,
                NetForce::new(loads, &self.forces, lane, &step),
                inverse_mass,
                inverse_inertia,
                reach,
                &step,
            );
            offsets.set_bits(lane, moved.offset.extend(moved.still).to_array());
            cells.set_bits(lane, moved.cell.as_uvec3().extend(kind).to_array());
            orientations.set_bits(lane, moved.orientation.as_uvec4().to_array());
            velocities.set(lane, moved.velocity, f32::from_bits(first_sphere));
            momenta.set(lane, moved.angular_momentum, moved.displacement_bound);
            self.lost[lane] = lost.into();
            self.stale[lane] =
                (moved.displacement_bound.abs() > step.params.displacement_limit).into();
        }
    }
}

/// A body after one time step, and whether it moves too far to be followed.
#[inline(always)]
fn advance_body<const ROUND: bool>(
    body: &Body,
    acting: NetForce,
    inverse_mass: f32,
    inverse_inertia: Vec3,
    reach: f32,
    step: &Step,
) -> (Body, bool) {
    if inverse_mass == 0.0 && inverse_inertia == Vec3::ZERO {
        return (*body, false);
    }
    let Step { params, dither, .. } = *step;
    let time_step = params.time_step;
    let mut moved = *body;
    let acting = match inverse_mass == 0.0 {
        // Nothing moves a kinematic body but its own velocity.
        true => NetForce::NONE,
        false => acting,
    };
    let gravity = if params.deforms == 1 {
        // What moves with the mean flow comes to where it is another one.
        acting.gravity - params.flow(body.velocity)
    } else {
        acting.gravity
    };
    let push = (acting.force * inverse_mass + gravity) * time_step;
    moved.velocity = rounding::add(body.velocity, push, dither);
    moved.angular_momentum =
        rounding::add(body.angular_momentum, acting.torque * time_step, dither);
    let explicit = params.integrator != SEMI_IMPLICIT;
    let from = if explicit { body } else { &moved };
    let (velocity, angular_momentum) = (from.velocity, from.angular_momentum);
    let way = velocity * time_step;
    (moved.cell, moved.offset) = travel(
        body.cell,
        body.offset,
        params.upright(way),
        params.cell_size,
        params.period,
        dither,
    );
    let spin;
    (moved.orientation, spin) = advance::<ROUND>(
        body.orientation,
        angular_momentum,
        inverse_inertia,
        time_step,
        dither,
    );
    let farther = way.length() + spin.length() * time_step * reach;
    let farther = if params.deforms == 1 {
        farther + params.stretch
    } else {
        farther
    };
    let displacement_bound = body.displacement_bound + farther;
    moved.displacement_bound = if farther > params.fast_displacement {
        -displacement_bound
    } else {
        displacement_bound
    };
    let turn = spin * time_step;
    let finite = moved.velocity.is_finite() & moved.angular_momentum.is_finite();
    let lost = !(finite & is_sane(way, params.cell_size) & (turn.length() < MOST_TURN));
    (moved, lost)
}

/// A body that may sleep, after a step that has moved it.
fn rest(moved: &Body, kinds: Kinds, step: &Step) -> Body {
    let params = &step.params;
    let (properties, members) = kinds.of(moved);
    if properties.inverse_mass == 0.0 || properties.is_ghost() {
        return *moved;
    }
    let spin = angular_velocity(
        Quaternion::of(moved.orientation),
        moved.angular_momentum,
        properties.inverse_inertia,
    );
    let farthest = properties.reach + members[0].radius;
    let still = moved.velocity.length() + farthest * spin.length() <= params.sleep_speed;
    let shares = moved.still & step.shares;
    let still = if still {
        (moved.still & !step.shares) + 1
    } else {
        0
    };
    if still >= params.sleep_steps {
        return Body {
            still: ASLEEP | shares,
            velocity: Vec3::ZERO,
            angular_momentum: Vec3::ZERO,
            displacement_bound: moved.displacement_bound.abs(),
            ..*moved
        };
    }
    Body {
        still: still | shares,
        ..*moved
    }
}
