//! The slope of a free surface, of a heap or in a drum.

use glam::DVec3;

use super::Moment;

/// A line through the tops of a heap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Angle with the horizontal, rad; positive if the surface rises along the given direction.
    pub angle: f64,
    /// Root mean square of the vertical distances of the tops from the line, m.
    pub scatter: f64,
    /// Number of columns with a top that counts.
    pub columns: usize,
}

/// Least number of columns, and of tops, for a slope.
const FEWEST: usize = 3;

impl Slope {
    /// Measures the slope of the free surface along the horizontal direction `along`.
    ///
    /// The bodies that are not fixed are sorted into `columns` along that direction. The top of a column is its highest centre of
    /// mass, and a line is fitted to the tops by least squares. On each side, the fraction `left_out` (0 to 0.5) of the columns
    /// does not count, because the walls of a drum bend the surface there.
    ///
    /// `up` and `along` need not be unit vectors; only the part of `along` across `up` counts. Returns `None` with fewer than
    /// three columns or tops, or if `up` or `along` gives no direction.
    pub fn new(
        moment: &Moment,
        up: DVec3,
        along: DVec3,
        columns: usize,
        left_out: f64,
    ) -> Option<Slope> {
        let up = up.try_normalize()?;
        let along = (along - along.dot(up) * up).try_normalize()?;
        let places = moment
            .free()
            .map(|grain| (grain.position.dot(along), grain.position.dot(up)));
        let (low, high) = places
            .clone()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (x, _)| {
                (low.min(x), high.max(x))
            });
        if high <= low || columns < FEWEST {
            return None;
        }
        let mut tops: Vec<Option<(f64, f64)>> = vec![None; columns];
        for (x, y) in places {
            let column = ((x - low) / (high - low) * columns as f64) as usize;
            let top = &mut tops[column.min(columns - 1)];
            if top.is_none_or(|(_, height)| y > height) {
                *top = Some((x, y));
            }
        }
        let outer = (left_out.clamp(0.0, 0.5) * columns as f64) as usize;
        let tops: Vec<(f64, f64)> = tops[outer..columns - outer]
            .iter()
            .copied()
            .flatten()
            .collect();
        if tops.len() < FEWEST {
            return None;
        }
        let number = tops.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| tops.iter().map(of).sum::<f64>() / number;
        let (x, y) = (mean(|top| top.0), mean(|top| top.1));
        let spread: f64 = tops.iter().map(|top| (top.0 - x) * (top.0 - x)).sum();
        let common: f64 = tops.iter().map(|top| (top.0 - x) * (top.1 - y)).sum();
        let slope = common / spread;
        let off = tops.iter().map(|top| top.1 - y - slope * (top.0 - x));
        Some(Slope {
            angle: libm::atan(slope),
            scatter: (off.map(|off| off * off).sum::<f64>() / number).sqrt(),
            columns: tops.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grain;
    use super::*;

    #[test]
    fn the_slope_of_a_wedge() {
        // A wedge that rises by 1 m over 2 m along -x, filled with bodies 0.1 m apart.
        let mut moment = Moment::default();
        for i in 0..40 {
            for j in 0..=(20 - i / 2) {
                let position = DVec3::new(0.1 * f64::from(i), 0.1 * f64::from(j), 0.3);
                moment.grains.push(Grain {
                    position,
                    ..Grain::default()
                });
            }
        }
        let slope = Slope::new(&moment, DVec3::Y, DVec3::X, 20, 0.1).unwrap();
        assert!((slope.angle + libm::atan(0.5)).abs() < 0.02, "{slope:?}");
        let other = Slope::new(&moment, 3.0 * DVec3::Y, DVec3::new(-2.0, 1.0, 0.0), 20, 0.1);
        assert!((other.unwrap().angle - libm::atan(0.5)).abs() < 0.02);
        assert_eq!(Slope::new(&moment, DVec3::Y, DVec3::Y, 20, 0.1), None);
        assert_eq!(Slope::new(&moment, DVec3::Y, DVec3::X, 2, 0.1), None);
        assert_eq!(
            Slope::new(&Moment::default(), DVec3::Y, DVec3::X, 20, 0.1),
            None
        );
    }
}
