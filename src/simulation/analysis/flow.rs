//! Flow: rates fitted to amounts that have passed, times without flow, and means over windows of time.

/// A rate, fitted by least squares to an amount over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Rate, in the unit of the amount per second.
    pub rate: f64,
    /// Standard error of the rate, in the same unit.
    pub error: f64,
    /// Number of values that the line was fitted to.
    pub values: usize,
}

impl Rate {
    /// Fits a line to `amounts` at `times` (s), both of one length.
    ///
    /// Returns `None` with fewer than three values, or if all are at one time.
    pub fn new(times: &[f64], amounts: &[f64]) -> Option<Rate> {
        let values = times.len().min(amounts.len());
        if values < 3 {
            return None;
        }
        let number = values as f64;
        let mean = |numbers: &[f64]| numbers[..values].iter().sum::<f64>() / number;
        let (time, amount) = (mean(times), mean(amounts));
        let pairs = || times.iter().zip(amounts).take(values);
        let spread: f64 = pairs().map(|(t, _)| (t - time) * (t - time)).sum();
        if spread <= 0.0 {
            return None;
        }
        let common: f64 = pairs().map(|(t, a)| (t - time) * (a - amount)).sum();
        let rate = common / spread;
        let off = pairs().map(|(t, a)| a - amount - rate * (t - time));
        let scatter = off.map(|off| off * off).sum::<f64>() / (number - 2.0);
        Some(Rate {
            rate,
            error: (scatter / spread).sqrt(),
            values,
        })
    }
}

/// Arches: the times (s) in which a growing amount stood still for `still` (s) or longer.
///
/// Each arch lasts from one change of the amount to the next, or to the end. The time before the first change is no arch, because
/// nothing flows yet.
pub fn arches(times: &[f64], amounts: &[f64], still: f64) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    let mut since = None;
    let mut pairs = times.iter().zip(amounts);
    let Some((&(mut end), mut before)) = pairs.next() else {
        return found;
    };
    for (&time, amount) in pairs {
        end = time;
        if amount == before {
            continue;
        }
        if let Some(start) = since.filter(|start| time - start >= still) {
            found.push((start, time));
        }
        (since, before) = (Some(time), amount);
    }
    if let Some(start) = since.filter(|start| end - start >= still) {
        found.push((start, end));
    }
    found
}

/// Means of the rows of a table over windows of a `length` (s), with the start and the end of each window, s.
///
/// Rows begin with their time, which must not decrease. The first window starts at the first row, and windows without rows are left out.
/// A number that is NaN does not count; the mean of none is NaN.
pub fn windows(rows: &[Vec<f64>], length: f64) -> Vec<([f64; 2], Vec<f64>)> {
    let start = rows.first().map_or(0.0, |row| row[0]);
    // Times are whole numbers of steps, so one at the start of a window may be off by rounding.
    let place = |row: &Vec<f64>| ((row[0] - start) / length + 1e-6).floor();
    let mean = |rows: &[Vec<f64>], column: usize| {
        let known = rows.iter().map(|row| row[column]);
        let known: Vec<f64> = known.filter(|number| !number.is_nan()).collect();
        // Without any, 0 over 0 is no number again.
        known.iter().sum::<f64>() / known.len() as f64
    };
    let windows = rows.chunk_by(|a, b| place(a) == place(b));
    let windows = windows.map(|rows| {
        let first = start + place(&rows[0]) * length;
        let means = (0..rows[0].len()).map(|column| mean(rows, column));
        ([first, first + length], means.collect())
    });
    windows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_slope_of_the_amount() {
        let times: Vec<f64> = (0..100).map(|k| 0.01 * f64::from(k)).collect();
        let amounts: Vec<f64> = times.iter().map(|t| 3.0 + 0.7 * t).collect();
        let rate = Rate::new(&times, &amounts).unwrap();
        assert!(
            (rate.rate - 0.7).abs() < 1e-9 && rate.error < 1e-9,
            "{rate:?}"
        );
        let rough: Vec<f64> = (0..100)
            .map(|k| 0.007 * f64::from(k) + if k % 2 == 0 { 0.01 } else { -0.01 })
            .collect();
        let rate = Rate::new(&times, &rough).unwrap();
        assert!(
            (rate.rate - 0.7).abs() < 3.0 * rate.error && rate.error > 1e-3,
            "{rate:?}"
        );
        assert_eq!(Rate::new(&times[..2], &amounts[..2]), None);
        assert_eq!(Rate::new(&[1.0; 3], &[1.0; 3]), None);
    }

    #[test]
    fn an_arch_is_a_time_without_flow() {
        let times: Vec<f64> = (0..10).map(f64::from).collect();
        let amounts = [0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0];
        assert_eq!(arches(&times, &amounts, 3.0), [(3.0, 7.0)]);
        assert_eq!(arches(&times, &amounts, 2.0), [(3.0, 7.0), (7.0, 9.0)]);
        assert_eq!(arches(&times, &amounts, 5.0), []);
        assert_eq!(arches(&times, &[1.0; 10], 2.0), []);
        assert_eq!(arches(&[], &[], 2.0), []);
    }

    #[test]
    fn windows_have_the_means() {
        let rows = [
            vec![0.5, 1.0, f64::NAN],
            vec![1.0, 3.0, 2.0],
            vec![1.5, 5.0, f64::NAN],
            vec![4.7, 9.0, 4.0],
        ];
        let found = windows(&rows, 1.0);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], ([0.5, 1.5], vec![0.75, 2.0, 2.0]));
        assert_eq!(found[1].1[..2], [1.5, 5.0]);
        assert!(found[1].1[2].is_nan());
        assert_eq!(found[2], ([4.5, 5.5], vec![4.7, 9.0, 4.0]));
        assert_eq!(windows(&[], 1.0), []);
    }
}
