//! Numbers for people: the one way in which messages, tables and panels write them.

use std::fmt;

/// Displays a number with four significant digits, without zeros at the end: `2`, `0.6284`, `9e-5`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounded(pub f64);

impl fmt::Display for Rounded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = format!("{:.3e}", self.0).parse().unwrap_or(self.0);
        write(formatter, rounded, 1e-3, 1e6)
    }
}

/// Displays a number as it was written, or near enough: the shortest text that reads as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact(pub f64);

impl fmt::Display for Exact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(formatter, self.0, 1e-5, 1e15)
    }
}

/// Writes a number without an exponent from `least` up to `most`.
fn write(formatter: &mut fmt::Formatter<'_>, number: f64, least: f64, most: f64) -> fmt::Result {
    if number == 0.0 || (least..most).contains(&number.abs()) {
        formatter.pad(&number.to_string())
    } else {
        formatter.pad(&format!("{number:e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_count_from_the_first_that_is_not_zero() {
        for (number, text) in [
            (0.0, "0"),
            (2.0, "2"),
            (1.5, "1.5"),
            (-12.345_6, "-12.35"),
            (0.999_96, "1"),
            (0.001_234_56, "0.001235"),
            (0.000_999_9, "9.999e-4"),
            (0.000_09, "9e-5"),
            (3.535_533_905_932_738e-5, "3.536e-5"),
            (683_747.0, "683700"),
            (999_999.4, "1e6"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Rounded(number).to_string(), text);
        }
        assert_eq!(
            format!("{:>6}|{:<4}|", Rounded(2.5), Rounded(2.0)),
            "   2.5|2   |"
        );
    }

    #[test]
    fn an_exact_number_reads_as_the_same() {
        for (number, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (0.000_09, "0.00009"),
            (9e-6, "9e-6"),
            (-1e300, "-1e300"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            assert_eq!(Exact(number).to_string(), text);
            assert_eq!(text.parse(), Ok(number));
        }
    }
}
