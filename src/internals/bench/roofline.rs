use serde::Serialize;

use super::PassTime;
use crate::state::layout::{
    Body, BodyBonds, BodyForce, BodyHeat, Bond, Sphere, SphereLoad, SphereSource,
};
use crate::step::Pass;

/// Time of a step beside the time in which the memory could move its bytes.
///
/// A pass must read what it needs and write what it makes; the fewest bytes for that are those of the
/// [layouts](crate::state::layout), each buffer once: data of neighbours counts once for each sphere, as if
/// caches caught all other uses. Passes that build the neighbour lists count by the steps for which
/// lists hold. The bytes are those of a GPU, also where the CPU or a software adapter steps. The limit of the memory is what a
/// plain copy reaches in the same run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// Bytes that a copy reads and writes in a second.
    pub copy_bytes_per_s: f64,
    /// Fewest bytes of a step.
    pub bytes_per_step: f64,
    /// Bytes that a step moves for each sphere.
    pub bytes_per_sphere: f64,
    /// Time in which a copy moves so many bytes, ms.
    pub floor_ms: f64,
    /// Part of the limit that the step reaches: `floor_ms` by its time.
    pub fraction: f64,
    /// Roofline of each pass.
    pub passes: Vec<PassRoofline>,
}

/// Time of a pass beside that limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassRoofline {
    /// Name of the pass.
    pub pass: &'static str,
    /// Fewest bytes in a step, on average.
    pub bytes: f64,
    /// Part of the limit that it reaches, by its own time; `None` if that is not known.
    pub fraction: Option<f64>,
}

/// Numbers from which the bytes of a step follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub bodies: f64,
    pub spheres: f64,
    /// Whether `integrate` poses the spheres: see [`Params::poses_early`](crate::state::layout::Params::poses_early).
    pub poses_early: bool,
    /// Source of the spheres of `contacts` and `walls`.
    pub source: SphereSource,
    pub buckets: f64,
    /// Entries of the neighbour lists.
    pub entries: f64,
    /// Entries of the lists that touch.
    pub touching: f64,
    /// Spheres whose contacts are looked for: of those with an empty list, nothing is read where nobody sleeps and steps
    /// follow each other without a pose.
    pub listed: f64,
    /// Spheres that have walls in their lists.
    pub near_walls: f64,
    /// Bodies of these.
    pub bodies_near_walls: f64,
    /// Bytes of the history of a contact.
    pub history: f64,
    /// Steps for which the lists hold.
    pub steps_per_list: f64,
    /// Bodies on which forces act besides those of contacts.
    pub forced: f64,
    /// Bodies, if they are bonded.
    pub bonded: f64,
    /// Ends of bonds.
    pub bond_ends: f64,
    /// 1 if bodies have temperatures, else 0.
    pub heated: f64,
}

impl Sizes {
    /// Fewest bytes of a pass in a step, on average.
    fn bytes(&self, pass: Pass) -> f64 {
        const INDEX: f64 = 4.0;
        let body = size_of::<Body>() as f64;
        let sphere = size_of::<Sphere>() as f64;
        let derives = self.source != SphereSource::Posed;
        // What contacts read of so many spheres of so many bodies.
        let seen = |spheres: f64, bodies: f64| match self.source {
            SphereSource::Posed => spheres * sphere,
            SphereSource::Balls => bodies * body,
            SphereSource::Clumps => spheres * INDEX + bodies * body,
        };
        // Cell, offset and radius, without the velocities.
        let place = 0.5 * sphere;
        let load = size_of::<SphereLoad>() as f64;
        // The part of a load that adds up from step to step.
        let account = 16.0;
        let entry = INDEX + self.history;
        // The index of a body lies in the half with the place.
        let posed = self.bodies * body + self.spheres * (place + sphere);
        let bytes = match pass {
            // Where lists are built.
            Pass::Pose if self.poses_early && derives => posed / self.steps_per_list,
            Pass::Pose if self.poses_early => 0.0,
            Pass::Pose => posed,
            // Bucket and slot of each sphere; counts, cleared, read and written.
            Pass::Bin => self.spheres * (place + 2.0 * INDEX) + self.buckets * 3.0 * INDEX,
            Pass::Scan => self.buckets * 2.0 * INDEX,
            // Bucket and slot are read, the unsorted indices written and read, the sorted written.
            Pass::Scatter => self.spheres * 5.0 * INDEX + self.buckets * INDEX,
            Pass::Neighbours => {
                // Starts are put aside, bodies of spheres written; old lists are read as the new ones get their histories.
                let carry = match self.history {
                    0.0 => 0.0,
                    history => self.entries * (entry + history),
                };
                self.spheres * (place + 5.0 * INDEX)
                    + self.buckets * INDEX
                    + self.entries * INDEX
                    + carry
            }
            Pass::Contacts => {
                self.spheres * INDEX
                    + seen(self.listed, self.bodies.min(self.listed))
                    + self.listed * (account + load)
                    + self.entries * INDEX
                    + self.touching * 2.0 * self.history
            }
            // Its index, start and last entry; contacts with walls are few.
            Pass::Walls => {
                seen(self.near_walls, self.bodies_near_walls)
                    + self.near_walls * (3.0 * INDEX + 2.0 * load)
            }
            Pass::Forces => self.forced * (body + 2.0 * size_of::<BodyForce>() as f64),
            // The other body of each end is read besides.
            Pass::Bonds => {
                let of_body = body + 2.0 * (size_of::<BodyForce>() + size_of::<BodyBonds>()) as f64;
                self.bonded * of_body + self.bond_ends * (size_of::<Bond>() as f64 + body)
            }
            Pass::Heat => {
                self.heated
                    * (self.bodies * (INDEX + 2.0 * size_of::<BodyHeat>() as f64)
                        + self.spheres * (place + INDEX)
                        + self.entries * INDEX)
            }
            Pass::Integrate => {
                let poses = self.poses_early && !derives;
                let posed = if poses { sphere } else { 0.0 };
                self.spheres * posed
                    + self.bodies * 2.0 * body
                    + self.forced * size_of::<BodyForce>() as f64
                    + self.spheres * load
            }
        };
        if pass.builds_lists() {
            bytes / self.steps_per_list
        } else {
            bytes
        }
    }
}

impl Roofline {
    /// From the sizes, the time of a step (ms), the times of the passes, and the speed of a copy
    /// (bytes read and written in a second).
    pub(super) fn new(
        sizes: &Sizes,
        ms_per_step: f64,
        times: Option<&[PassTime]>,
        copy_bytes_per_s: f64,
    ) -> Roofline {
        let floor_ms = |bytes: f64| 1e3 * bytes / copy_bytes_per_s;
        let passes: Vec<PassRoofline> = Pass::ALL
            .iter()
            .enumerate()
            .map(|(index, &pass)| {
                let bytes = sizes.bytes(pass);
                let time = times.map(|times| times[index].ms);
                let time = time.filter(|&ms| ms > 0.0 && bytes > 0.0);
                PassRoofline {
                    pass: pass.name(),
                    bytes,
                    fraction: time.map(|ms| floor_ms(bytes) / ms),
                }
            })
            .collect();
        let bytes_per_step = passes.iter().map(|pass| pass.bytes).sum();
        Roofline {
            copy_bytes_per_s,
            bytes_per_step,
            bytes_per_sphere: bytes_per_step / sizes.spheres,
            floor_ms: floor_ms(bytes_per_step),
            fraction: floor_ms(bytes_per_step) / ms_per_step,
            passes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_bytes_are_those_of_the_layouts() {
        let sizes = Sizes {
            bodies: 1.0,
            spheres: 1.0,
            poses_early: true,
            source: SphereSource::Posed,
            buckets: 1.0,
            entries: 10.0,
            listed: 1.0,
            near_walls: 0.0,
            bodies_near_walls: 0.0,
            touching: 6.0,
            history: 16.0,
            steps_per_list: 20.0,
            forced: 0.0,
            bonded: 0.0,
            bond_ends: 0.0,
            heated: 0.0,
        };
        // Body read and written, load read, sphere written.
        assert_eq!(sizes.bytes(Pass::Pose), 0.0);
        assert_eq!(sizes.bytes(Pass::Integrate), 160.0 + 48.0 + 64.0);
        let apart = Sizes {
            poses_early: false,
            ..sizes
        };
        // Body and index of the body read; sphere written.
        assert_eq!(apart.bytes(Pass::Pose), 80.0 + 32.0 + 64.0);
        // Sphere, start, account read; load written; list read; histories read and written.
        assert_eq!(
            sizes.bytes(Pass::Contacts),
            64.0 + 4.0 + 16.0 + 48.0 + 40.0 + 192.0
        );
        let alone = Sizes {
            listed: 0.0,
            entries: 0.0,
            touching: 0.0,
            ..sizes
        };
        assert_eq!(alone.bytes(Pass::Contacts), 4.0);
        let balls = Sizes {
            source: SphereSource::Balls,
            ..sizes
        };
        // Bodies in place of spheres, which are posed where lists are built.
        assert_eq!(balls.bytes(Pass::Pose), 176.0 / 20.0);
        assert_eq!(balls.bytes(Pass::Integrate), 160.0 + 48.0);
        assert_eq!(
            balls.bytes(Pass::Contacts) - sizes.bytes(Pass::Contacts),
            16.0
        );
        // A cube of eight spheres, half of which are near a wall: the index of the body of each, and the body once.
        let cube = Sizes {
            spheres: 8.0,
            listed: 8.0,
            near_walls: 4.0,
            bodies_near_walls: 1.0,
            ..sizes
        };
        let derived = Sizes {
            source: SphereSource::Clumps,
            ..cube
        };
        let saved = |pass| cube.bytes(pass) - derived.bytes(pass);
        assert_eq!(saved(Pass::Pose), -(80.0 + 8.0 * 96.0) / 20.0);
        assert_eq!(saved(Pass::Contacts), 8.0 * 64.0 - (8.0 * 4.0 + 80.0));
        assert_eq!(saved(Pass::Walls), 4.0 * 64.0 - (4.0 * 4.0 + 80.0));
        assert_eq!(saved(Pass::Integrate), 8.0 * 64.0);
        assert_eq!(sizes.bytes(Pass::Scan), 8.0 / 20.0);
        let without = Sizes {
            history: 0.0,
            ..sizes
        };
        assert_eq!(
            sizes.bytes(Pass::Contacts) - without.bytes(Pass::Contacts),
            192.0
        );

        let roofline = Roofline::new(&sizes, 2.0, None, 1e3 * roofline_bytes(&sizes));
        assert!((roofline.floor_ms - 1.0).abs() < 1e-12);
        assert!((roofline.fraction - 0.5).abs() < 1e-12);
    }

    fn roofline_bytes(sizes: &Sizes) -> f64 {
        Pass::ALL.iter().map(|&pass| sizes.bytes(pass)).sum()
    }
}
