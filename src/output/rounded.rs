use std::fmt;

/// Displays a number with four significant digits, for people.
pub struct Rounded(pub f64);

impl fmt::Display for Rounded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rounded(number) = *self;
        match number.abs() {
            0.0 => write!(formatter, "0"),
            size if (1e-3..1e6).contains(&size) => {
                let before_point = size.log10().floor() as i32 + 1;
                let after_point = (4 - before_point).max(0) as usize;
                write!(formatter, "{number:.after_point$}")
            }
            _ => write!(formatter, "{number:.3e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rounded;

    #[test]
    fn four_digits_count_from_the_first_that_is_not_zero() {
        let texts = [
            0.0,
            2.0,
            -12.345_6,
            0.001_234_56,
            0.000_999_9,
            999_999.4,
            1e6,
        ]
        .map(|number| Rounded(number).to_string());
        assert_eq!(
            texts,
            [
                "0", "2.000", "-12.35", "0.001235", "9.999e-4", "999999", "1.000e6"
            ]
        );
    }
}
