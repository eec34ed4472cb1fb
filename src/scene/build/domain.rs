//! The periodic box.

use glam::{DQuat, DVec2, DVec3};

use super::super::error::{exact, rounded};
use super::super::format::{Outlet, Outside, SceneFile};
use super::check::{Check, Names, list, vector};
use super::usage::used_shapes;
use crate::model::clump::Clump;
use crate::model::wall::{Dynamic, Shape, Wall};
use crate::model::{Cohesion, Domain, PairLaw};
use crate::state::least_length;

/// Lengths of the widest body along a periodic axis, so that none meets itself.
const WIDTHS: f64 = 2.0;
/// More than what rounding to four digits takes away.
const ROUNDING: f64 = 1.0005;

impl Check {
    /// The box, if it is periodic along any axis. `names`, `shapes` and `walls` are those of the scene,
    /// `laws` its pair table.
    pub(super) fn domain(
        &mut self,
        file: &SceneFile,
        names: &Names,
        shapes: &[Option<Clump>],
        laws: &[PairLaw],
        walls: &[Wall],
    ) -> Option<Domain> {
        let domain = file.domain.as_ref()?;
        let periodic = domain.periodic.0;
        let goes_out = |outlet: &Outlet| outlet.outside == Some(Outside::Domain);
        if periodic == [false; 3] && !file.outlets.iter().any(goes_out) {
            self.warnings.push(
                "domain: it is periodic along no axis, so it does nothing; its bounds are not walls"
                    .into(),
            );
        }
        let mut fits = self.vector("domain.min", &domain.min, "a coordinate, m");
        fits &= self.vector("domain.max", &domain.max, "a coordinate, m");
        let sizes = Sizes::new(file, names, shapes, laws);
        for (wall, path) in walls
            .iter()
            .skip(file.planes.len())
            .zip(0..)
            .map(|(wall, index)| (wall, format!("walls[{index}]")))
        {
            self.wall_in_domain(&path, wall, domain, sizes.as_ref());
        }
        for axis in (0..3).filter(|axis| periodic[*axis]) {
            let name = ["x", "y", "z"][axis];
            let (min, max) = (domain.min.0[axis], domain.max.0[axis]);
            if min >= max {
                fits = false;
                self.problem(
                    format_args!("domain.max[{axis}]"),
                    exact(max),
                    format!("a number greater than min[{axis}], which is {}", exact(min)),
                );
            } else if let Some(sizes) = &sizes {
                self.length_of_domain(name, max - min, sizes);
                for (corner, coordinate) in [("min", min), ("max", max)] {
                    let path = format_args!("domain.{corner}[{axis}]");
                    self.near(path, &[coordinate], sizes.largest);
                }
            }
            for (index, plane) in file.planes.iter().enumerate() {
                if plane.normal.0[axis] != 0.0 {
                    self.problem(
                        format_args!("planes[{index}].normal"),
                        list(&plane.normal.0),
                        format!(
                            "0 along {name}, since the domain is periodic along it, and bodies would \
                             come to the plane from behind"
                        ),
                    );
                }
            }
        }
        (fits && periodic != [false; 3]).then(|| Domain {
            min: vector(&domain.min),
            max: vector(&domain.max),
            periodic,
        })
    }

    /// A wall in a periodic box is the same along it, or reaches less than half as far: then a body sees one of
    /// its images at most. A rectangle that spans the box is the same, for its images meet.
    fn wall_in_domain(
        &mut self,
        path: &str,
        wall: &Wall,
        domain: &super::super::format::Domain,
        sizes: Option<&Sizes>,
    ) {
        let (Some(sizes), turn) = (sizes, wall.pose.orientation) else {
            return;
        };
        let motion = wall.motion.as_ref();
        let driven = wall.dynamic.is_some_and(|dynamic| match dynamic {
            Dynamic::Body(body) => body.moments.is_some(),
            Dynamic::Servo(servo) => servo.drift.is_some_and(|drift| drift.turns()),
        });
        let turns = driven
            || motion.is_some_and(|motion| motion.rotation.is_some() || !motion.keys.is_empty());
        for axis in (0..3).filter(|axis| domain.periodic.0[*axis]) {
            let along = DVec3::AXES[axis];
            let length = domain.max.0[axis] - domain.min.0[axis];
            let room = 0.5 * length - 2.0 * sizes.largest;
            let fits = match wall.shape {
                Shape::Plane { normal } => (turn * normal).dot(along) == 0.0,
                Shape::Cone { height, bottom, .. } if height.is_infinite() => {
                    let part = (turn * DVec3::Y).dot(along).abs();
                    part > 1.0 - 1e-12 || (part < 1e-12 && bottom <= room)
                }
                Shape::Rectangle { size } if !turns && spans(turn, size, along, length) => true,
                _ if turns => wall.reach() <= room,
                _ => wall.extent(along) <= room,
            };
            if !fits {
                let name = ["x", "y", "z"][axis];
                self.problem(
                    path,
                    format!("a wall across {name}, along which the domain is periodic"),
                    format!(
                        "a wall that is the same all along {name}, such as a rectangle twice as long as the domain; or one \
                         within {} m of its position along {name}, half the domain less the largest diameter",
                        rounded(room)
                    ),
                );
            }
        }
    }

    fn length_of_domain(&mut self, axis: &str, length: f64, sizes: &Sizes) {
        let spheres = least_length(sizes.largest, sizes.range);
        let (least, what) = if sizes.range > 0.0 && spheres >= WIDTHS * sizes.widest {
            (
                spheres,
                "twice the largest diameter with the range of forces across gaps",
            )
        } else {
            (WIDTHS * sizes.widest, "twice the width of the largest body")
        };
        // Not more than what rounding takes from a length of two diameters.
        if length < (1.0 - 1e-9) * least {
            self.problem(
                "domain",
                format!("{} m along {axis}", rounded(length)),
                format!("at least {} m, {what}", rounded(ROUNDING * least)),
            );
        }
    }
}

/// Whether a rectangle has a side along `along` that is twice as long as the domain: which of its images is the nearest is
/// known to a cell only, so that one of the same length would have a gap.
fn spans(turn: DQuat, size: DVec2, along: DVec3, length: f64) -> bool {
    let own = turn.conjugate() * along;
    let as_long = |part: f64, side: f64| part.abs() > 1.0 - 1e-12 && side >= 2.0 * length;
    as_long(own.x, size.x) || as_long(own.z, size.y)
}

/// Lengths of what is in use that a periodic box must hold, m.
struct Sizes {
    /// Largest radius of a sphere.
    largest: f64,
    /// Diameter of the largest body about its centre of mass.
    widest: f64,
    /// Largest gap at which surfaces act on each other.
    range: f64,
}

impl Sizes {
    /// None if no shape in use is right.
    fn new(
        file: &SceneFile,
        names: &Names,
        shapes: &[Option<Clump>],
        laws: &[PairLaw],
    ) -> Option<Self> {
        let ranges = laws.iter().map(|law| match law.cohesion {
            Cohesion::Constant { range, .. } => range,
            Cohesion::None | Cohesion::SurfaceEnergy(_) => 0.0,
        });
        let mut sizes = Self {
            largest: 0.0,
            widest: 0.0,
            range: ranges.fold(file.contact.range.unwrap_or(0.0), f64::max),
        };
        for clump in used_shapes(file, names).filter_map(|shape| shapes[shape].as_ref()) {
            sizes.widest = sizes.widest.max(2.0 * clump.bounding_radius());
            for sphere in &clump.spheres {
                sizes.largest = sizes.largest.max(sphere.radius);
            }
        }
        (sizes.largest > 0.0).then_some(sizes)
    }
}
