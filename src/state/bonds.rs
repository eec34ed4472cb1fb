//! Bonds, as the engines have them.

use std::ops::Range;

use glam::{DQuat, DVec3, DVec4, Vec3, Vec4};

use super::layout::{BROKEN_BY_SHEAR, Body, Bond};
use super::{State, body_orientation};
use crate::model::Model;
use crate::model::bonds::Bonds;

/// The ends of a model's bonds, as they are at the start.
pub(crate) struct BondEnds<'a> {
    bonds: &'a Bonds,
    /// The body of each end, the index of the bond, and the side, in the order in which a state has them.
    order: Vec<[u32; 3]>,
}

impl<'a> BondEnds<'a> {
    pub fn of(model: &'a Model) -> BondEnds<'a> {
        let bonds = &model.bonds;
        let both = (0..).zip(bonds.bodies()).flat_map(|(source, bodies)| {
            let [first, second] = bodies;
            [[first, source, 0], [second, source, 1]]
        });
        let mut order: Vec<[u32; 3]> = both.collect();
        order.sort_unstable();
        BondEnds { bonds, order }
    }

    /// The ends of bonds at some bodies.
    pub fn at(&self, bodies: Range<u32>) -> Vec<Bond> {
        let before = |body: u32| self.order.partition_point(|end| end[0] < body);
        let own = &self.order[before(bodies.start)..before(bodies.end)];
        let ends = own
            .iter()
            .filter_map(|&[_, bond, side]| self.end(bond, side));
        ends.collect()
    }

    fn end(&self, source: u32, side: u32) -> Option<Bond> {
        let bond = self.bonds.get(source as usize)?;
        let bodies = bond.bodies.map(|body| body as u32);
        Some(end(&bond, bodies, source, side))
    }
}

/// An end of a bond between these bodies, as it is at the start.
pub(crate) fn end(
    bond: &crate::model::bond::Bond,
    [first, second]: [u32; 2],
    source: u32,
    side: u32,
) -> Bond {
    let along = |[first, other]: [f64; 2]| DVec3::new(first, other, other).as_vec3();
    // Single precision has no strength beyond its largest number, which no stress reaches.
    let bounded = |number: f64| number.min(f64::from(f32::MAX)) as f32;
    let [first_frame, second_frame] = bond.frames.map(frame);
    let [first_length, second_length] = bond.to_middle().map(|length| length as f32);
    let [healing_reach, healing_time] = bond.healing_numbers().map(bounded);
    Bond {
        first_arm: bond.arms[0].as_vec3(),
        first,
        second_arm: bond.arms[1].as_vec3(),
        second,
        first_frame,
        second_frame,
        stiffness: along(bond.stiffness),
        side,
        turning_stiffness: along(bond.turning_stiffness),
        damping: along(bond.damping),
        inverse_area: (1.0 / bond.area()) as f32,
        turning_damping: along(bond.turning_damping),
        inverse_section: (1.0 / bond.section_modulus()) as f32,
        tensile_strength: bounded(bond.tensile_strength),
        shear_strength: bounded(bond.shear_strength),
        source,
        first_length,
        second_length,
        healing_reach,
        healing_time,
        ..Bond::default()
    }
}

/// Puts ends of bonds in their order: that of the bodies at which they are, and at each that of the bonds.
pub(crate) fn sort(ends: &mut [Bond]) {
    ends.sort_unstable_by_key(|end| (end.own(), end.source));
}

fn frame(turn: DQuat) -> Vec4 {
    DVec4::from(turn).as_vec4()
}

/// A bond as it is in a state.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bonded {
    /// Index into [`Model::bonds`].
    pub bond: usize,
    /// Indices of the bodies.
    pub bodies: [usize; 2],
    /// The bodies' centres of mass, m; in a periodic box, the second is the image nearest to the first.
    pub ends: [DVec3; 2],
    /// The middle of the bond, m.
    pub middle: DVec3,
    /// Force of its springs on the first body, N; zero if it is broken.
    pub force: DVec3,
    /// The moment of its springs on the first body about the middle, N m.
    pub moment: DVec3,
    /// The largest tension at its edge, Pa.
    pub tension: f64,
    /// The largest shear stress at its edge, Pa.
    pub shear: f64,
    /// The stress over the strength, of tension or of shear, whichever is larger; it breaks beyond 1.
    pub load: f64,
    /// Energy of its springs half a step before, when the velocities were what they are, J.
    pub energy: f64,
    /// Break of the bond, if it is broken.
    pub broken: Option<Break>,
    /// Its last healing, if it was broken before and is not now.
    pub healed: Option<Healed>,
    /// Number of times that it has broken so far.
    pub breaks: u32,
}

impl Bonded {
    /// Time at which it last broke or healed, s, if ever.
    pub fn changed(&self) -> Option<f64> {
        let broke = self.broken.map(|own| own.time);
        broke.or(self.healed.map(|own| own.time))
    }
}

/// Break of a bond.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Break {
    /// The step, counted from 1.
    pub step: u64,
    /// Time of the break, s.
    pub time: f64,
    /// Place of the break, m.
    pub place: DVec3,
    /// Energy that it held, J.
    pub energy: f64,
    /// Whether by shear; else by tension.
    pub by_shear: bool,
}

/// The last change of a bond, which needs no look at its bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed {
    /// Index into [`Model::bonds`].
    pub bond: usize,
    /// Indices of the bodies.
    pub bodies: [usize; 2],
    /// Break of the bond, if it is broken.
    pub broken: Option<Break>,
    /// Its last healing, if it is not.
    pub healed: Option<Healed>,
    /// Number of times that it has broken so far.
    pub breaks: u32,
}

/// Healing of a bond that was broken.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Healed {
    /// The step, counted from 1.
    pub step: u64,
    /// Time of the healing, s.
    pub time: f64,
    /// Place of the healing, m: the middle between both surfaces.
    pub place: DVec3,
}

impl State {
    /// Sets the bonds, which are in the order of the bodies at whose ends they are.
    pub(crate) fn set_bonds(&mut self, bonds: Vec<Bond>) {
        self.params.bond_count = bonds.len() as u32;
        self.bonds = bonds;
    }

    /// The bonds that there are, broken ones among them.
    pub fn bonded(&self) -> impl Iterator<Item = Bonded> + '_ {
        self.bonded_between(|body| &self.bodies[body as usize])
    }

    /// The bonds that there are, of which `body` has the bodies.
    pub(crate) fn bonded_between<'a>(
        &'a self,
        body: impl Fn(u32) -> &'a Body + 'a,
    ) -> impl Iterator<Item = Bonded> + 'a {
        let once = self.bonds.iter().filter(|bond| bond.side == 0);
        once.map(move |bond| self.bonded_by(bond, [bond.first, bond.second].map(&body)))
    }

    /// The ends of bonds at some bodies.
    pub(crate) fn ends_of_bonds(&self, bodies: Range<usize>) -> Range<usize> {
        let before = |body: usize| {
            self.bonds
                .partition_point(|bond| (bond.own() as usize) < body)
        };
        before(bodies.start)..before(bodies.end)
    }

    /// The bonds that have broken at least once.
    pub(crate) fn changed_bonds(&self) -> impl Iterator<Item = &Bond> {
        let changed = |bond: &&Bond| bond.side == 0 && bond.breaks > 0;
        self.bonds.iter().filter(changed)
    }

    /// Counts the bonds, and the broken ones among them.
    pub fn count_bonds(&self) -> [usize; 2] {
        let once = || self.bonds.iter().filter(|bond| bond.side == 0);
        [
            once().count(),
            once().filter(|bond| bond.broken != 0).count(),
        ]
    }

    /// The last change of a bond.
    pub(crate) fn change(&self, bond: &Bond) -> Changed {
        let place = bond.cell.as_dvec3() * self.params.cell_size.as_dvec3();
        let last = Healed {
            step: u64::from(bond.step) + 1,
            time: bond.time.into(),
            place: self.origin + self.tilted(place + bond.offset.as_dvec3()),
        };
        let is_broken = bond.broken != 0;
        Changed {
            bond: bond.source as usize,
            bodies: [bond.first, bond.second].map(|body| body as usize),
            broken: is_broken.then(|| Break {
                step: last.step,
                time: last.time,
                place: last.place,
                energy: bond.energy.into(),
                by_shear: bond.broken == BROKEN_BY_SHEAR,
            }),
            healed: (bond.breaks > 0 && !is_broken).then_some(last),
            breaks: bond.breaks,
        }
    }

    fn bonded_by(&self, bond: &Bond, [first, second]: [&Body; 2]) -> Bonded {
        let turns = [first, second].map(body_orientation);
        let arms = [bond.first_arm, bond.second_arm].map(Vec3::as_dvec3);
        let from = self.position(first);
        let to = from + self.nearest(self.position(second) - from);
        let arms = [turns[0] * arms[0], turns[1] * arms[1]];
        let way = (to + arms[1]) - (from + arms[0]);
        let middle = from + arms[0] + 0.5 * way;
        let own =
            [bond.first_frame, bond.second_frame].map(|frame| DQuat::from_vec4(frame.as_dvec4()));
        let [a, mut b] = [turns[0] * own[0], turns[1] * own[1]];
        if a.dot(b) < 0.0 {
            b = -b;
        }
        let turn = a.conjugate() * b;
        let frame = (a + b).normalize();
        let stretch = frame.conjugate() * way;
        let bend = 2.0 * turn.xyz();
        let force = bond.stiffness.as_dvec3() * stretch;
        let moment = bond.turning_stiffness.as_dvec3() * bend;
        let (area, section) = (
            f64::from(bond.inverse_area),
            f64::from(bond.inverse_section),
        );
        let across = |vector: DVec3| vector.with_x(0.0).length();
        let tension = force.x * area + across(moment) * section;
        let shear = across(force) * area + moment.x.abs() * 0.5 * section;
        // Velocities are those of half a step before: so is the energy, for the sum of both to stay what it is.
        let motions = [(first, turns[0]), (second, turns[1])].map(|(body, turn)| {
            let inverse_inertia = self.properties_of(body).inverse_inertia.as_dvec3();
            let momentum = turn.conjugate() * body.angular_momentum.as_dvec3();
            (
                body.velocity.as_dvec3(),
                turn * (inverse_inertia * momentum),
            )
        });
        let reaches = [arms[0] + 0.5 * way, arms[1] - 0.5 * way];
        let at = |side: usize| motions[side].0 + motions[side].1.cross(reaches[side]);
        let back = 0.5 * f64::from(self.params.time_step);
        let stretched = stretch - back * (frame.conjugate() * (at(1) - at(0)));
        let bent = bend - back * (frame.conjugate() * (motions[1].1 - motions[0].1));
        let along = (bond.stiffness.as_dvec3() * stretched).dot(stretched);
        let about = (bond.turning_stiffness.as_dvec3() * bent).dot(bent);
        let strengths = [bond.tensile_strength, bond.shear_strength].map(f64::from);
        let Changed {
            bond,
            bodies,
            broken,
            healed,
            breaks,
        } = self.change(bond);
        let intact = f64::from(u8::from(broken.is_none()));
        Bonded {
            bond,
            bodies,
            ends: [from, to],
            middle,
            force: intact * (frame * force),
            moment: intact * (frame * moment),
            tension: intact * tension,
            shear: intact * shear,
            load: intact * (tension / strengths[0]).max(shear / strengths[1]),
            // As the pass `bonds` has it.
            energy: intact * (0.5 * along + about / (1.0 + turn.w)),
            broken,
            healed,
            breaks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bonds_go_with_the_bodies() {
        let mut state = State::default();
        state.set_bonds(vec![Bond::default(); 4]);
        let outline = state.outline();
        assert_eq!((outline.bonds.len(), outline.params.bond_count), (0, 0));
    }
}
