//! Single precision, which the engines have, beside double precision.

use crate::table::{Engine, Quantity, at_most};
use crate::{impacts, resting, sliding};

/// Runs a case in both, and gives the largest difference of its quantities, as a part of the expected number.
fn difference(engine: Engine, case: fn(Engine) -> Vec<Quantity>) -> f64 {
    let single = case(engine);
    let double = case(Engine::Double);
    let parts = single.iter().zip(&double).filter_map(|(single, double)| {
        assert_eq!(single.what, double.what);
        let part = single.expected.part_of(single.got - double.got)?;
        println!("{}: {} of {}: {part}", single.what, single.got, double.got);
        Some(part)
    });
    parts.fold(0.0, f64::max)
}

pub fn beside_double(engine: Engine) -> Vec<Quantity> {
    type Run = fn(Engine) -> Vec<Quantity>;
    let cases: [(&str, Run, f64); 8] = [
        ("two spheres, Hertz, elastic", impacts::two_spheres, 1e-3),
        ("sphere on a rigid plane", impacts::sphere_on_plane, 1e-3),
        ("restitution, Hertz", impacts::restitution_hertz, 1e-3),
        (
            "oblique impact, gross sliding",
            impacts::oblique_sliding,
            1e-3,
        ),
        ("slide to roll", sliding::slide_to_roll, 1e-3),
        ("sphere on an incline", sliding::sphere_on_incline, 1e-3),
        ("stack at rest", resting::stack, 1e-3),
        ("settled bed", resting::settled_bed, 1e-3),
    ];
    let rows = cases.into_iter().map(|(name, case, most)| {
        at_most(
            format!("{name}: largest difference of a quantity, of its value"),
            most,
            difference(engine, case),
        )
    });
    rows.collect()
}
