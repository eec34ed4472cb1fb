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

/// Means of `numbers` at `times` (s) over windows of a `length` (s), each with the time of its middle, s.
///
/// `times` must not decrease. The first window starts at the first time, and windows without a value are left out.
pub fn windows(times: &[f64], numbers: &[f64], length: f64) -> Vec<(f64, f64)> {
    let Some(start) = times.first() else {
        return Vec::new();
    };
    let mut means: Vec<(f64, f64)> = Vec::new();
    let mut window = (0.0, 0.0, 0.0);
    let mut close = |(index, sum, count): (f64, f64, f64)| {
        if count > 0.0 {
            means.push((start + (index + 0.5) * length, sum / count));
        }
    };
    for (time, number) in times.iter().zip(numbers) {
        let index = ((time - start) / length).floor();
        if index != window.0 {
            close(window);
            window = (index, 0.0, 0.0);
        }
        window = (index, window.1 + number, window.2 + 1.0);
    }
    close(window);
    means
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
        let times = [0.0, 0.5, 1.0, 1.5, 4.2];
        let numbers = [1.0, 3.0, 5.0, 7.0, 9.0];
        assert_eq!(
            windows(&times, &numbers, 1.0),
            [(0.5, 2.0), (1.5, 6.0), (4.5, 9.0)]
        );
        assert_eq!(windows(&[], &[], 1.0), []);
    }
}
