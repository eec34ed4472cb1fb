use serde::Serialize;

/// Median and spread of repeated measurements of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Median absolute deviation from the median.
    pub mad: f64,
}

impl Spread {
    /// The spread of `values`; of none, all are NaN.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Spread {
        let values: Vec<f64> = values.into_iter().collect();
        let median = self::median(values.clone());
        Spread {
            median,
            min: values.iter().copied().fold(f64::NAN, f64::min),
            max: values.iter().copied().fold(f64::NAN, f64::max),
            mad: self::median(values.iter().map(|value| (value - median).abs()).collect()),
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count.is_multiple_of(2) => 0.5 * (values[count / 2 - 1] + values[count / 2]),
        count => values[count / 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_moves_neither_the_median_nor_its_deviation() {
        let spread = Spread::new([4.0, 1.0, 2.0, 100.0, 3.0]);
        let expected = Spread {
            median: 3.0,
            min: 1.0,
            max: 100.0,
            mad: 1.0,
        };
        assert_eq!(spread, expected);
        assert_eq!(Spread::new([2.0, 1.0]).median, 1.5);
        assert!(Spread::new([]).median.is_nan());
    }
}
