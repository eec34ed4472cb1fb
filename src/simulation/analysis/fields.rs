//! Fields by coarse graining: density, velocity, granular temperature and stress on a grid, averaged over time.
//!
//! A Gaussian φ of a width w spreads out each body. It also spreads out each contact force, along the line between the two
//! centres of mass, or from the centre of mass to the point of contact with a wall or a fixed body (Goldhirsch, Granular Matter
//! 12, 239, 2010; at walls Weinhart et al., Granular Matter 14, 289, 2012):
//!
//! - density ρ = Σ m φ, solid fraction Σ V φ, velocity u = Σ m v φ / ρ;
//! - kinetic stress Σ m v' v' φ with v' = v - u, granular temperature its trace over 3 ρ;
//! - contact stress -Σ f b ∫ φ(r - r₁ - s b) ds from 0 to 1, with the force f on the first body and the vector b from it to the
//!   second one.
//!
//! So mass and momentum are balanced exactly, whatever the width: ρ du/dt = ρ g - div σ with the sum σ of both stresses, which
//! are positive in compression. With several moments, all sums are means over them. Then v' is relative to the mean velocity over
//! time, so bodies that sway together have a granular temperature.
//!
//! Along an axis with one cell, φ is no Gaussian but the mean over that cell. So a grid of `[1, 50, 1]` cells is a line along y,
//! averaged over a cross-section.

use std::f64::consts::PI;

use glam::{DMat3, DVec3};

use super::Moment;
use crate::simulation::network::{NetworkContact, Partner};

/// A box of cells; fields are taken at the middles of the cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Corner with the smallest coordinates, m.
    pub min: DVec3,
    /// Corner with the largest coordinates, m.
    pub max: DVec3,
    /// Number of cells along each axis.
    pub cells: [usize; 3],
}

impl Grid {
    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.iter().product()
    }

    /// Whether the grid has no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sides of a cell, m.
    pub fn spacing(&self) -> DVec3 {
        (self.max - self.min) / self.cells_as_vector()
    }

    fn cells_as_vector(&self) -> DVec3 {
        DVec3::from_array(self.cells.map(|count| count as f64))
    }

    /// The middle of the cell with this index, m. Cells are counted along x first, then along y, then along z.
    pub fn middle(&self, index: usize) -> DVec3 {
        let [i, j, _] = self.cells;
        let place = [index % i, index / i % j, index / i / j];
        self.min + (DVec3::from_array(place.map(|k| k as f64)) + 0.5) * self.spacing()
    }
}

/// Names of the components of a stress, row by row.
///
/// The first letter is the direction of the force, the second that of the normal of the surface on which it acts.
pub const COMPONENTS: [&str; 9] = ["xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"];

/// The fields in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Density, kg/m³.
    pub density: f64,
    /// Solid fraction: the part of the space that bodies fill.
    pub solid_fraction: f64,
    /// Mean velocity, weighted by mass, m/s; 0 without mass.
    pub velocity: DVec3,
    /// Granular temperature, m²/s²: a third of the mean square of the velocities relative to the mean velocity.
    pub temperature: f64,
    /// Kinetic stress, Pa, positive in compression; each column belongs to a direction of the normal.
    pub kinetic_stress: DMat3,
    /// Contact stress, Pa, with the same signs and columns; 0 if the contacts are not known.
    pub contact_stress: DMat3,
}

impl Field {
    /// Pressure, Pa: a third of the trace of the sum of both stresses.
    pub fn pressure(&self) -> f64 {
        let sum = self.kinetic_stress + self.contact_stress;
        (sum.x_axis.x + sum.y_axis.y + sum.z_axis.z) / 3.0
    }
}

/// Sums over moments, from which the [`Field`] of each cell follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    grid: Grid,
    width: f64,
    moments: u64,
    sums: Vec<Sums>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sums {
    mass: f64,
    volume: f64,
    momentum: DVec3,
    kinetic: DMat3,
    contact: DMat3,
}

/// Distance up to which a body counts, in widths; 2e-9 of the Gaussian lies beyond.
const REACH: f64 = 6.0;
/// Distance up to which a contact counts, in widths; 4e-6 of the Gaussian lies beyond.
const REACH_OF_CONTACT: f64 = 5.0;
/// Largest number of cells of a grid.
pub const MOST_CELLS: usize = 50_000_000;

impl Fields {
    /// Makes empty sums on a grid, for a Gaussian of the given `width` (m).
    ///
    /// # Errors
    /// If the grid has no volume, no cells or more than [`MOST_CELLS`]; or if the width is less than the longest side of a cell,
    /// because a body between the middles of two cells would then count too little. Axes with one cell do not matter for that.
    /// The sentence says what was found and what was expected.
    pub fn new(grid: Grid, width: f64) -> Result<Fields, String> {
        let sides = grid.max - grid.min;
        if !(sides.is_finite() && sides.min_element() > 0.0) {
            return Err(format!(
                "found a region from {} to {} m, expected one with a volume",
                grid.min, grid.max
            ));
        }
        let cells = grid
            .cells
            .iter()
            .try_fold(1, |product: usize, count| product.checked_mul(*count));
        if !cells.is_some_and(|cells| (1..=MOST_CELLS).contains(&cells)) {
            return Err(format!(
                "found {:?} cells, expected from 1 to {MOST_CELLS} of them in all",
                grid.cells
            ));
        }
        let spacing = grid.spacing();
        let coarsest = (0..3)
            .filter(|axis| grid.cells[*axis] > 1)
            .map(|axis| spacing[axis])
            .fold(0.0, f64::max);
        // Rounding must not refuse a width that is meant to equal a side.
        if !(width.is_finite() && width > 0.0 && width >= coarsest * (1.0 - 1e-9)) {
            return Err(format!(
                "found a width of {width} m, expected at least the longest side of a cell, {coarsest} m: take a larger width \
                 or more cells"
            ));
        }
        Ok(Fields {
            grid,
            width,
            moments: 0,
            sums: vec![Sums::NONE; grid.len()],
        })
    }

    /// The grid of the fields.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The width of the Gaussian, m.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Number of moments that have been added.
    pub fn moments(&self) -> u64 {
        self.moments
    }

    /// Forgets all moments.
    pub fn clear(&mut self) {
        self.moments = 0;
        self.sums.fill(Sums::NONE);
    }

    /// Adds a moment.
    pub fn add(&mut self, moment: &Moment) {
        self.add_grains(moment);
        for contact in moment.contacts.iter().flat_map(|all| &all.contacts) {
            self.add_contact(moment, contact);
        }
    }

    /// Adds a moment but for its contacts.
    pub(super) fn add_grains(&mut self, moment: &Moment) {
        self.moments += 1;
        for grain in moment.free() {
            let velocity = grain.velocity;
            let momentum = grain.mass * velocity;
            let own = Sums {
                mass: grain.mass,
                volume: grain.volume,
                momentum,
                kinetic: outer(momentum, velocity),
                contact: DMat3::ZERO,
            };
            let [x, y, z] =
                [0, 1, 2].map(|axis| self.weights(axis, grain.position[axis], moment.period[axis]));
            for (k, z) in &z {
                for (j, y) in &y {
                    let row = self.grid.cells[0] * (j + self.grid.cells[1] * k);
                    for (i, x) in &x {
                        self.sums[row + i].add(&own, x * y * z);
                    }
                }
            }
        }
    }

    /// The cells along an axis to which a body at `place` (m) adds, each with its weight, 1/m.
    ///
    /// In a periodic box the images of the body add, too.
    fn weights(&self, axis: usize, place: f64, period: f64) -> Vec<(usize, f64)> {
        let (min, max) = (self.grid.min[axis], self.grid.max[axis]);
        let count = self.grid.cells[axis];
        let spacing = self.grid.spacing()[axis];
        let reach = if count == 1 { 0.0 } else { REACH * self.width };
        let mut weights = vec![0.0; count];
        for place in images(place, period, min - reach, max + reach) {
            if count == 1 {
                weights[0] += 1.0 / (max - min);
                continue;
            }
            let peak = 1.0 / ((2.0 * PI).sqrt() * self.width);
            let middle = |k: usize| min + (k as f64 + 0.5) * spacing;
            let first = ((place - reach - min) / spacing - 0.5).ceil().max(0.0) as usize;
            for (k, weight) in weights.iter_mut().enumerate().skip(first) {
                let off = (middle(k) - place) / self.width;
                if off > REACH {
                    break;
                }
                *weight += peak * libm::exp(-0.5 * off * off);
            }
        }
        let nonzero = |(_, weight): &(usize, f64)| *weight != 0.0;
        weights.into_iter().enumerate().filter(nonzero).collect()
    }

    /// Adds a contact of a moment, whose grains have been added.
    pub(super) fn add_contact(&mut self, moment: &Moment, contact: &NetworkContact) {
        let body = contact.body as usize;
        let fixed = |body: usize| moment.grains[body].fixed;
        let mut force = contact.force;
        // From a body that is not fixed to the centre of another, or to the point where it touches a fixed body or a wall.
        let (start, way) = match contact.partner {
            Partner::Sphere { body: other, .. } => {
                let other = other as usize;
                match (fixed(body), fixed(other)) {
                    (true, true) => return,
                    (false, false) => {
                        let start = moment.grains[body].position;
                        (start, moment.grains[other].position - start)
                    }
                    (false, true) => {
                        let start = moment.grains[body].position;
                        (start, contact.point - start)
                    }
                    (true, false) => {
                        force = -force;
                        let start = moment.grains[other].position;
                        (start, contact.point - start)
                    }
                }
            }
            Partner::Wall(_) if fixed(body) => return,
            Partner::Wall(_) => {
                let start = moment.grains[body].position;
                (start, contact.point - start)
            }
        };
        let way = moment.nearest(way);
        let stress = -outer(force, way);
        let reach = |axis: usize| match self.grid.cells[axis] {
            1 => 0.0,
            _ => REACH_OF_CONTACT * self.width,
        };
        let starts = [0, 1, 2].map(|axis| {
            let (low, high) = (way[axis].min(0.0), way[axis].max(0.0));
            let min = self.grid.min[axis] - reach(axis) - high;
            let max = self.grid.max[axis] + reach(axis) - low;
            images(start[axis], moment.period[axis], min, max)
        });
        for &x in &starts[0] {
            for &y in &starts[1] {
                for &z in &starts[2] {
                    self.add_way(DVec3::new(x, y, z), way, stress);
                }
            }
        }
    }

    /// Spreads a stress (N m) out along the vector `way` (m) from `start` (m).
    fn add_way(&mut self, start: DVec3, way: DVec3, stress: DMat3) {
        let Grid { min, max, cells } = self.grid;
        let spacing = self.grid.spacing();
        let width = self.width;
        let reach = REACH_OF_CONTACT * width;
        // `from` and `to` bound the part of the way inside the grid, along axes with one cell, where the mean is taken.
        let (mut from, mut to, mut factor) = (0.0_f64, 1.0_f64, 1.0);
        let mut active = DVec3::ZERO;
        let mut ranges = [(0, 0); 3];
        for axis in 0..3 {
            if cells[axis] > 1 {
                active[axis] = 1.0;
                factor /= (2.0 * PI).sqrt() * width;
                let low = start[axis] + way[axis].min(0.0) - reach - min[axis];
                let high = start[axis] + way[axis].max(0.0) + reach - min[axis];
                let first = (low / spacing[axis] - 0.5).ceil().max(0.0);
                let last = (high / spacing[axis] - 0.5).floor();
                ranges[axis] = (
                    first as usize,
                    (last.max(-1.0) + 1.0).min(cells[axis] as f64) as usize,
                );
                continue;
            }
            ranges[axis] = (0, 1);
            factor /= max[axis] - min[axis];
            let ends = [min[axis], max[axis]].map(|end| (end - start[axis]) / way[axis]);
            if way[axis] == 0.0 {
                if !(min[axis]..max[axis]).contains(&start[axis]) {
                    return;
                }
            } else {
                from = from.max(ends[0].min(ends[1]));
                to = to.min(ends[0].max(ends[1]));
            }
        }
        if from >= to {
            return;
        }
        let along = way * active;
        let square = along.length_squared();
        let steep = (0.5 * square).sqrt() / width;
        for k in ranges[2].0..ranges[2].1 {
            for j in ranges[1].0..ranges[1].1 {
                for i in ranges[0].0..ranges[0].1 {
                    let index = i + cells[0] * (j + cells[1] * k);
                    let off = (self.grid.middle(index) - start) * active;
                    let (nearest, length) = if square > 0.0 {
                        let nearest = off.dot(along) / square;
                        (nearest, off.length_squared() - nearest * nearest * square)
                    } else {
                        (0.0, off.length_squared())
                    };
                    if length > reach * reach {
                        continue;
                    }
                    let weight = factor * libm::exp(-0.5 * length.max(0.0) / (width * width));
                    let within = if steep > 0.0 {
                        let part = |s: f64| libm::erf(steep * (s - nearest));
                        0.5 * PI.sqrt() / steep * (part(to) - part(from))
                    } else {
                        to - from
                    };
                    self.sums[index].contact += stress * (weight * within);
                }
            }
        }
    }

    /// The fields of all cells, in the order of [`Grid::middle`].
    pub fn cells(&self) -> impl ExactSizeIterator<Item = Field> + '_ {
        let share = 1.0 / self.moments.max(1) as f64;
        self.sums.iter().map(move |sums| {
            let density = share * sums.mass;
            let momentum = share * sums.momentum;
            let velocity = if density > 0.0 {
                momentum / density
            } else {
                DVec3::ZERO
            };
            let kinetic_stress = sums.kinetic * share - outer(momentum, velocity);
            let trace = kinetic_stress.x_axis.x + kinetic_stress.y_axis.y + kinetic_stress.z_axis.z;
            Field {
                density,
                solid_fraction: share * sums.volume,
                velocity,
                temperature: if density > 0.0 {
                    (trace / (3.0 * density)).max(0.0)
                } else {
                    0.0
                },
                kinetic_stress,
                contact_stress: sums.contact * share,
            }
        })
    }
}

impl Sums {
    // The default of a glam matrix is the identity, so `Default` would be wrong here.
    const NONE: Sums = Sums {
        mass: 0.0,
        volume: 0.0,
        momentum: DVec3::ZERO,
        kinetic: DMat3::ZERO,
        contact: DMat3::ZERO,
    };

    fn add(&mut self, own: &Sums, weight: f64) {
        self.mass += weight * own.mass;
        self.volume += weight * own.volume;
        self.momentum += weight * own.momentum;
        self.kinetic += own.kinetic * weight;
    }
}

/// The outer product a b, with a column for each component of b.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// The images of a coordinate from `min` (included) to `max` (excluded), m; only itself if the period is 0.
fn images(place: f64, period: f64, min: f64, max: f64) -> Vec<f64> {
    if period <= 0.0 {
        let within = (min..max).contains(&place);
        return if within { vec![place] } else { Vec::new() };
    }
    let first = ((min - place) / period).ceil();
    (0..)
        .map(|k| place + (first + f64::from(k)) * period)
        .take_while(|image| *image < max)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Grain;
    use super::*;
    use crate::simulation::network::Network;

    fn grain(position: DVec3, velocity: DVec3) -> Grain {
        Grain {
            mass: 2.0,
            volume: 0.5,
            position,
            velocity,
            ..Grain::default()
        }
    }

    fn volume(grid: &Grid) -> f64 {
        grid.spacing().element_product()
    }

    #[test]
    fn the_integral_of_the_density_is_the_mass() {
        let grid = Grid {
            min: DVec3::splat(-4.0),
            max: DVec3::splat(4.0),
            cells: [16, 20, 24],
        };
        let moment = Moment {
            grains: vec![
                grain(DVec3::new(0.123, -0.4, 0.77), DVec3::X),
                grain(DVec3::new(-0.6, 0.3, 0.1), DVec3::Y),
            ],
            ..Moment::default()
        };
        let mut fields = Fields::new(grid, 0.5).unwrap();
        fields.add(&moment);
        fields.add(&moment);
        let sum = |of: fn(&Field) -> f64| -> f64 {
            fields.cells().map(|field| of(&field)).sum::<f64>() * volume(&grid)
        };
        let mass = sum(|field| field.density);
        assert!((mass / 4.0 - 1.0).abs() < 1e-6, "{mass}");
        assert!((sum(|field| field.solid_fraction) - 1.0).abs() < 1e-6);
        let momentum = sum(|field| field.density * field.velocity.x);
        assert!((momentum / 2.0 - 1.0).abs() < 1e-6, "{momentum}");
        // Energy that is not in the mean motion is in the granular temperature.
        let kinetic = sum(|field| field.density * field.velocity.length_squared())
            + sum(|field| 3.0 * field.density * field.temperature);
        assert!((kinetic / 4.0 - 1.0).abs() < 1e-6, "{kinetic}");
    }

    #[test]
    fn a_periodic_box_keeps_the_mass_of_what_lies_on_its_seam() {
        let grid = Grid {
            min: DVec3::ZERO,
            max: DVec3::splat(4.0),
            cells: [8, 1, 8],
        };
        let moment = Moment {
            grains: vec![grain(DVec3::new(3.9, 0.0, 0.1), DVec3::ZERO)],
            period: DVec3::splat(4.0),
            ..Moment::default()
        };
        let mut fields = Fields::new(grid, 0.6).unwrap();
        fields.add(&moment);
        let mass = fields.cells().map(|field| field.density).sum::<f64>() * volume(&grid);
        assert!((mass / 2.0 - 1.0).abs() < 1e-6, "{mass}");
    }

    #[test]
    fn a_stack_bears_the_weight_above() {
        // Ten grains of 2 kg, one on the other, under a gravity of 10 m/s².
        let heights: Vec<f64> = (0..10).map(|k| 0.5 + f64::from(k)).collect();
        let grains = heights
            .iter()
            .map(|y| grain(DVec3::new(0.2, *y, -0.1), DVec3::ZERO))
            .collect();
        let contacts = (0..10).map(|k| {
            let force = DVec3::Y * 20.0 * f64::from(10 - k);
            let point = DVec3::new(0.2, f64::from(k), -0.1);
            match k {
                0 => NetworkContact::of_force(0, Partner::Wall(0), point, force),
                _ => NetworkContact::of_force(
                    k - 1,
                    Partner::Sphere { sphere: k, body: k },
                    point,
                    -force,
                ),
            }
        });
        let moment = Moment {
            grains,
            contacts: Some(Network {
                contacts: contacts.collect(),
                fixed: vec![false; 10],
            }),
            ..Moment::default()
        };
        // Along a line, averaged over 2 by 3 m.
        let line = Grid {
            min: DVec3::new(-1.0, -2.0, -1.5),
            max: DVec3::new(1.0, 12.0, 1.5),
            cells: [1, 28, 1],
        };
        let mut fields = Fields::new(line, 0.7).unwrap();
        fields.add(&moment);
        let cells: Vec<Field> = fields.cells().collect();
        let spacing = line.spacing().y;
        for (index, cell) in cells.iter().enumerate() {
            let height = line.middle(index).y;
            // Further down, the floor bears a part of the weight.
            if height < 3.5 {
                continue;
            }
            let above: f64 = cells[index + 1..].iter().map(|cell| cell.density).sum();
            let weight = 10.0 * spacing * (above + 0.5 * cell.density);
            let found = cell.contact_stress.y_axis.y;
            // The whole weight is 200 N on 6 m².
            assert!(
                (found - weight).abs() < 0.01 * 33.3,
                "{height}: {found} {weight}"
            );
            assert!(cell.contact_stress.x_axis.x.abs() < 1e-9);
        }
        // In space, the force through a level is the weight above it.
        let space = Grid {
            min: DVec3::new(-4.0, 4.5, -4.0),
            max: DVec3::new(4.0, 5.5, 4.0),
            cells: [16, 2, 16],
        };
        let mut fields = Fields::new(space, 0.5).unwrap();
        fields.add(&moment);
        let level = |index: usize| space.middle(index).y == space.middle(0).y;
        let fields: Vec<Field> = fields.cells().collect();
        let through = (0..space.len()).filter(|index| level(*index));
        let area = space.spacing().x * space.spacing().z;
        let force: f64 = through
            .map(|index| area * fields[index].contact_stress.y_axis.y)
            .sum();
        let above = |y: &f64| 0.5 * libm::erfc((space.middle(0).y - y) / (0.5 * 2f64.sqrt()));
        let weight: f64 = heights.iter().map(|y| 20.0 * above(y)).sum();
        assert!((force / weight - 1.0).abs() < 1e-4, "{force} {weight}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let grid = Grid {
            min: DVec3::ZERO,
            max: DVec3::ONE,
            cells: [10, 1, 1],
        };
        assert!(Fields::new(grid, 0.05).unwrap_err().contains("0.1 m"));
        assert!(Fields::new(grid, f64::NAN).is_err());
        assert!(
            Fields::new(
                Grid {
                    cells: [0, 1, 1],
                    ..grid
                },
                1.0
            )
            .is_err()
        );
        assert!(
            Fields::new(
                Grid {
                    cells: [usize::MAX; 3],
                    ..grid
                },
                1.0
            )
            .is_err()
        );
        let flat = Grid {
            max: DVec3::new(1.0, 0.0, 1.0),
            ..grid
        };
        assert!(Fields::new(flat, 1.0).is_err());
    }
}
