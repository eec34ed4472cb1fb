//! Numbers that the physics must reproduce, on both engines; `table.rs` says how they become
//! `docs/book/src/validation.md`.

mod bonds;
#[path = "../common/mod.rs"]
mod common;
mod free;
mod gas;
mod heap;
mod heat;
mod impacts;
mod impulse;
mod motion;
mod packing;
mod precision;
mod published;
mod resting;
mod silo;
mod sliding;
mod table;
mod theory;

use table::Case;

/// A test for each case, and the list of all: first the quick ones, then those that take minutes, then those that take
/// minutes on the CPU engine and are left out on a software adapter.
macro_rules! cases {
    (
        quick { $($quick:ident: $quick_name:literal, $quick_source:literal, $quick_run:path;)* }
        long { $($long:ident: $long_name:literal, $long_source:literal, $long_run:path;)* }
        large { $($large:ident: $large_name:literal, $large_source:literal, $large_run:path;)* }
    ) => {
        const CASES: &[Case] = &[
            $(Case { name: $quick_name, source: $quick_source, run: $quick_run, large: false },)*
            $(Case { name: $long_name, source: $long_source, run: $long_run, large: false },)*
            $(Case { name: $large_name, source: $large_source, run: $large_run, large: true },)*
        ];
        $(#[test] fn $quick() { check($quick_name); })*
        $(#[test] #[ignore = "takes minutes"] fn $long() { check($long_name); })*
        $(#[test] #[ignore = "takes minutes"] fn $large() { check($large_name); })*
    };
}

cases! {
    quick {
        two_spheres_hertz: "two spheres, Hertz, elastic", "Chung and Ooi 2011, test 1", impacts::two_spheres;
        sphere_on_a_rigid_plane: "sphere on a rigid plane", "Chung and Ooi 2011, test 2", impacts::sphere_on_plane;
        restitution_of_hertz: "restitution, Hertz", "Chung and Ooi 2011, test 3; Schwager and Pöschel 2007", impacts::restitution_hertz;
        restitution_of_hooke: "restitution, Hooke", "Schwager and Pöschel 2007", impacts::restitution_hooke;
        restitution_converges: "restitution and the time step", "exact", impacts::restitution_converges;
        oblique_impact_sliding: "oblique impact, gross sliding", "Chung and Ooi 2011, test 4", impacts::oblique_sliding;
        oblique_impact_scaled: "oblique impact, scaled", "Chung and Ooi 2011, test 5", impacts::oblique_scaled;
        spinning_impacts: "impact with spin, gross sliding", "exact", impacts::spinning_impacts;
        spin_follows_velocity: "every oblique impact", "exact", impacts::spin_and_velocity;
        energy_of_mindlins_spring: "energy of oblique impacts, Hertz", "exact; Thornton et al. 2013", impacts::spring_energy;
        bounce: "linear spring-dashpot bounce", "exact", impacts::bounce;
        elastic_head_on: "elastic head-on", "exact", impacts::head_on;
        newtons_cradle: "Newton's cradle", "exact", impacts::cradle;
        same_collision_far_away: "same collision far away", "exact", impacts::far_away;
        slide_to_roll: "slide to roll", "exact", sliding::slide_to_roll;
        sliding_to_rest: "sliding to rest", "exact", sliding::sliding_to_rest;
        static_friction: "static friction on an incline", "exact", sliding::static_friction;
        sphere_on_an_incline: "sphere on an incline", "exact", sliding::sphere_on_incline;
        rolling_resistance: "rolling resistance", "exact", sliding::rolling_resistance;
        rolling_resistance_on_an_incline: "rolling resistance on an incline", "exact", sliding::rolling_resistance_on_incline;
        twisting_resistance: "twisting resistance", "exact", sliding::twisting_resistance;
        pull_off: "pull-off force", "Johnson, Kendall and Roberts 1971", sliding::pull_off;
        projectile: "projectile", "exact", free::projectile;
        free_asymmetric_body: "free asymmetric body", "Landau and Lifshitz, Mechanics, section 37", free::asymmetric_body;
        tumbling_converges: "free body and the time step", "midpoint rule", free::tumbling_converges;
        free_symmetric_top: "free symmetric top", "exact", free::symmetric_top;
        union_of_two_spheres: "union of two spheres", "exact", free::union_of_two;
        stack_at_rest: "stack at rest", "exact", resting::stack;
        stack_far_away: "stack at rest far away", "exact", resting::stack_far_away;
        one_sphere_clump: "one-sphere clump", "exact", resting::one_sphere_clump;
        pyramid_of_four: "pyramid of four spheres", "exact", resting::pyramid;
        settled_bed: "settled bed", "exact", resting::settled_bed;
        two_warm_bodies: "heat between two bodies", "Batchelor and O'Brien 1977", heat::two_bodies;
        warm_chain: "heat along a chain", "exact", heat::chain;
        heat_is_kept: "heat of a falling heap", "exact", heat::kept;
        bonded_cantilever: "bonds: cantilever", "Euler and Bernoulli", bonds::cantilever;
        bonded_pair: "bonds: strength of a pair", "Potyondy and Cundall 2004", bonds::pair;
        bonded_cylinder: "bonds: strength of a cylinder", "exact", bonds::cylinder;
        bonds_that_break: "bonds: a lump that breaks", "exact", bonds::broken_lump;
        impulses_of_a_stack: "impulse: heavy ball on a light one", "exact", impulse::heavy_on_light;
        impulses_of_impacts: "impulse: restitution", "exact", impulse::restitution;
        impulses_of_sliding: "impulse: sliding to rest and to roll", "exact", impulse::sliding;
        impulses_on_an_incline: "impulse: cube on an incline", "exact", impulse::incline;
        impulses_of_a_cluster: "impulse: free cluster", "exact", impulse::cluster;
        impulses_of_a_fast_ball: "impulse: ball of 200 m/s and a thin wall", "exact", impulse::fast_ball;
        cooling_gas: "cooling gas", "Haff 1983; Carnahan and Starling 1969", gas::cooling;
    }
    long {
        single_and_double: "single and double precision", "double precision", precision::beside_double;
        energy_of_a_linear_gas: "energy of an elastic gas, hooke/viscous", "exact", gas::linear_energy;
        energy_of_a_hertzian_gas: "energy of an elastic gas, hertz/mindlin", "exact", gas::hertzian_energy;
        isotropic_packing: "isotropic packing", "O'Hern et al. 2003", packing::isotropic;
        janssen: "silo at rest", "Janssen 1895", silo::janssen;
        beverloo: "silo that empties", "Beverloo et al. 1961", silo::beverloo;
        impulses_of_towers: "impulse: towers of cubes", "exact", impulse::tower;
        impulses_of_a_heap: "impulse: heap of 10,000", "exact", impulse::weight;
        impulses_of_pyramids: "impulse: 20 pyramids of 20 rows", "exact", impulse::pyramids;
        impulses_of_what_stands: "impulse: what stands until it is hit", "exact", impulse::what_stands;
        impulses_of_sleep: "impulse: a heap falls asleep", "exact", impulse::sleep;
        impulses_beside_springs: "impulse: the same scenes under hooke with history", "hooke with history", impulse::beside_springs;
        angle_of_repose: "angle of repose", "trend", heap::angle_of_repose;
    }
    large {
        flat_hopper: "flat hopper", "Anand et al. 2008", published::flat_hopper;
        dam_break: "granular dam break", "Evangelista et al. 2014", published::dam_break;
        slots: "hopper with a slot", "Beverloo et al. 1961; Myers and Sellers", published::slots;
        plate: "heap on a plate", "Zhou et al. 2002", published::plate;
        steel_ball: "steel ball on grains", "Dosta et al. 2024, other beds", published::steel_ball;
        triaxial: "triaxial compression", "friction angle of spheres", published::triaxial;
    }
}

fn check(name: &str) {
    let case = CASES.iter().find(|case| case.name == name).unwrap();
    case.check(CASES);
}

#[test]
fn the_table_has_the_cases_that_run() {
    table::check_table(CASES);
}
