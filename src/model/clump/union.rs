//! Mass properties of the union of overlapping spheres.

use std::f64::consts::{PI, TAU};

use glam::{DMat3, DMat4, DVec2, DVec3, DVec4, Vec4Swizzles};

use super::{ClumpSphere, MassProperties, inertia_from_second_moment, outer, summed_spheres};

/// Mass, centre of mass and inertia of the union of `spheres`, filled with the given `density` (kg/m³).
///
/// Each point of space counts once, however many spheres hold it.
///
/// By the divergence theorem the moments of a solid are integrals over its surface:
/// ∫ dV = 1/3 ∮ x·n dS, ∫ x dV = 1/4 ∮ x (x·n) dS and ∫ x xᵀ dV = 1/5 ∮ x xᵀ (x·n) dS. The surface of the union is made of the
/// surfaces of all spheres, without the caps inside their neighbours. Each sphere is cut into rings of constant z. Along a ring
/// the exposed arcs are integrated in closed form. Across the rings, adaptive Gauss-Legendre quadrature integrates between the
/// heights at which the pattern of arcs changes. Only that quadrature is not exact: its relative error is about 1e-12.
///
/// # Panics
///
/// If there is no sphere, a radius is not positive, or a number is not finite.
pub fn union_of_spheres(spheres: &[ClumpSphere], density: f64) -> MassProperties {
    // The reference is near the centre of mass, so that a clump far from its origin loses no digits.
    let reference = summed_spheres(spheres, density).center_of_mass;
    let rule = quadrature_rule();
    let mut moments = DMat4::ZERO;
    for (index, sphere) in spheres.iter().enumerate() {
        if let Some(caps) = hidden_caps(spheres, index) {
            moments += surface_moments(sphere.center - reference, sphere.radius, &caps, &rule);
        }
    }
    let volume = moments.w_axis.w / 3.0;
    let centroid = moments.w_axis.xyz() / (4.0 * volume);
    let second_moment = DMat3::from_mat4(moments) * 0.2 - outer(centroid, centroid) * volume;
    MassProperties {
        mass: density * volume,
        center_of_mass: reference + centroid,
        inertia: inertia_from_second_moment(second_moment) * density,
    }
}

/// A cap: the part of a unit sphere on which `axis · n > cosine`.
struct Cap {
    axis: DVec3,
    cosine: f64,
    half_angle: f64,
    /// Angle of the axis about z, rad.
    azimuth: f64,
    /// Length of the part of the axis across z.
    flat: f64,
}

/// The caps of one sphere that lie inside other spheres; `None` if the whole sphere does.
///
/// A cap inside a larger cap is left out. Of identical spheres only the first counts.
fn hidden_caps(spheres: &[ClumpSphere], index: usize) -> Option<Vec<Cap>> {
    let ClumpSphere { center, radius } = spheres[index];
    let mut caps = Vec::new();
    for (other_index, other) in spheres.iter().enumerate() {
        let offset = other.center - center;
        let distance = offset.length();
        if other_index == index || distance >= radius + other.radius {
            continue;
        }
        let holds_other = distance + other.radius <= radius;
        if distance + radius <= other.radius && !(holds_other && index < other_index) {
            return None;
        }
        if holds_other {
            continue;
        }
        let axis = offset / distance;
        let difference_of_squares = (radius - other.radius) * (radius + other.radius);
        let cosine = (distance * distance + difference_of_squares) / (2.0 * distance * radius);
        let cosine = cosine.clamp(-1.0, 1.0);
        caps.push(Cap {
            axis,
            cosine,
            half_angle: libm::acos(cosine),
            azimuth: libm::atan2(axis.y, axis.x),
            flat: axis.truncate().length(),
        });
    }

    caps.sort_by(|a, b| b.half_angle.total_cmp(&a.half_angle));
    let mut kept: Vec<Cap> = Vec::new();
    for cap in caps {
        let inside = |larger: &Cap| {
            let chord = larger.axis.distance(cap.axis);
            2.0 * libm::asin((0.5 * chord).min(1.0)) + cap.half_angle <= larger.half_angle
        };
        if !kept.iter().any(inside) {
            kept.push(cap);
        }
    }
    Some(kept)
}

/// Heights on the unit sphere between which the exposed arcs vary smoothly, in ascending order.
///
/// They are the heights of the poles, of the extremes of the caps' edges, and of the points where two edges cross.
fn breakpoints(caps: &[Cap]) -> Vec<f64> {
    // A point inside another cap bounds no exposed arc, but a point on its edge does, and round-off must not hide it.
    const MARGIN: f64 = 1e-9;
    let mut heights = vec![-1.0, 1.0];
    let mut add = |point: DVec3| {
        if !caps
            .iter()
            .any(|cap| cap.axis.dot(point) > cap.cosine + MARGIN)
        {
            heights.push(point.z.clamp(-1.0, 1.0));
        }
    };
    for (index, cap) in caps.iter().enumerate() {
        let rim = (1.0 - cap.cosine * cap.cosine).sqrt();
        // Zero for a level edge, which has only one height.
        let outward = cap.axis.truncate().normalize_or_zero();
        let uphill = (outward * -cap.axis.z).extend(cap.flat);
        add(cap.axis * cap.cosine + uphill * rim);
        add(cap.axis * cap.cosine - uphill * rim);
        for other in &caps[..index] {
            let along = cap.axis.cross(other.axis);
            let sine_squared = along.length_squared();
            let cosine = cap.axis.dot(other.axis);
            let foot = cap.axis * (cap.cosine - cosine * other.cosine)
                + other.axis * (other.cosine - cosine * cap.cosine);
            let foot = foot / sine_squared;
            let rest = (1.0 - foot.length_squared()) / sine_squared;
            // For parallel axes this is NaN, and the comparison false.
            if rest >= 0.0 {
                add(foot + along * rest.sqrt());
                add(foot - along * rest.sqrt());
            }
        }
    }
    heights.sort_by(f64::total_cmp);
    heights
}

/// Surface integral ∮ X Xᵀ (x·n) dS with X = (x, 1), over the part of a sphere that is in none of the `caps`.
fn surface_moments(center: DVec3, radius: f64, caps: &[Cap], rule: &[DVec2]) -> DMat4 {
    // With N = (n, 1) on the unit sphere: x·n = (centre, radius)·N.
    let support = center.extend(radius);
    // Relative to the size of an integral over the whole sphere.
    let tolerance = 1e-12 * support.abs().element_sum();
    let mut covered = Vec::new();
    let mut ring = |height| match exposed_arcs(caps, height, &mut covered) {
        Some(arcs) => ring_moments(height, &arcs, support),
        None => DMat4::ZERO,
    };
    let mut moments = DMat4::ZERO;
    for segment in breakpoints(caps).windows(2) {
        let whole = quadrature(&mut ring, segment[0], segment[1], rule);
        moments += refine(&mut ring, segment[0], segment[1], whole, tolerance, rule);
    }
    // X = (centre + radius n, 1), dS = radius² dz dφ.
    let to_sphere = DMat4::from_diagonal(DVec3::splat(radius).extend(1.0));
    let to_sphere = DMat4::from_translation(center) * to_sphere;
    to_sphere * moments * to_sphere.transpose() * (radius * radius)
}

/// Integrals over arcs of a circle: ∫ cos kφ dφ as x and ∫ sin kφ dφ as y, for k from 0 to 3.
type Harmonics = [DVec2; 4];

/// Harmonics of the exposed arcs of the unit sphere's ring at a height; `None` if there is no such arc.
///
/// `covered` is working space.
fn exposed_arcs(caps: &[Cap], height: f64, covered: &mut Vec<DVec2>) -> Option<Harmonics> {
    let ring_radius = (1.0 - height * height).max(0.0).sqrt();
    covered.clear();
    for cap in caps {
        let reach = cap.cosine - cap.axis.z * height;
        let span = ring_radius * cap.flat;
        if reach <= -span {
            return None;
        }
        if reach < span {
            let half = libm::acos(reach / span);
            let (start, end) = (cap.azimuth - half, cap.azimuth + half);
            if start < -PI {
                covered.push(DVec2::new(start + TAU, PI));
            } else if end > PI {
                covered.push(DVec2::new(-PI, end - TAU));
            }
            covered.push(DVec2::new(start.max(-PI), end.min(PI)));
        }
    }
    covered.sort_by(|a, b| a.x.total_cmp(&b.x));

    let mut harmonics = None;
    let mut cursor = -PI;
    for interval in covered.iter().copied().chain([DVec2::new(PI, PI)]) {
        if interval.x > cursor {
            add_arc(harmonics.get_or_insert_default(), cursor, interval.x);
        }
        cursor = cursor.max(interval.y);
    }
    harmonics
}

fn add_arc(harmonics: &mut Harmonics, start: f64, end: f64) {
    harmonics[0].x += end - start;
    let direction = |angle: f64| {
        let (sine, cosine) = libm::sincos(angle);
        DVec2::new(cosine, sine)
    };
    let (from, to) = (direction(start), direction(end));
    let (mut from_k, mut to_k) = (from, to);
    for (k, sum) in (1..).zip(&mut harmonics[1..]) {
        *sum += DVec2::new(to_k.y - from_k.y, from_k.x - to_k.x) / f64::from(k);
        from_k = from_k.rotate(from);
        to_k = to_k.rotate(to);
    }
}

/// Integral ∫ N Nᵀ (support·N) dφ over arcs of the unit sphere's ring at a height, with N = (n, 1).
fn ring_moments(height: f64, arcs: &Harmonics, support: DVec4) -> DMat4 {
    let [DVec2 { x: one, .. }, first, second, third] = *arcs;
    let (c, s) = (first.x, first.y);
    let (cc, cs, ss) = (
        (one + second.x) / 2.0,
        second.y / 2.0,
        (one - second.x) / 2.0,
    );
    let (ccc, sss) = ((3.0 * c + third.x) / 4.0, (3.0 * s - third.y) / 4.0);
    let (ccs, css) = ((s + third.y) / 4.0, (c - third.x) / 4.0);

    let r = (1.0 - height * height).max(0.0).sqrt();
    let along = support.w + support.z * height;
    let across = support.xy() * r;
    let weigh = |w, wc, ws| along * w + across.x * wc + across.y * ws;
    let w = weigh(one, c, s);
    let (wx, wy) = (r * weigh(c, cc, cs), r * weigh(s, cs, ss));
    let wxx = r * r * weigh(cc, ccc, ccs);
    let wxy = r * r * weigh(cs, ccs, css);
    let wyy = r * r * weigh(ss, css, sss);
    let column_w = DVec4::new(wx, wy, w * height, w);
    DMat4::from_cols(
        DVec4::new(wxx, wxy, wx * height, wx),
        DVec4::new(wxy, wyy, wy * height, wy),
        column_w * height,
        column_w,
    )
}

/// Integral of `ring` from `low` to `high` by one application of the quadrature rule.
fn quadrature(ring: &mut impl FnMut(f64) -> DMat4, low: f64, high: f64, rule: &[DVec2]) -> DMat4 {
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    let terms = rule
        .iter()
        .map(|node| ring(middle + half * node.x) * (half * node.y));
    terms.fold(DMat4::ZERO, |sum, term| sum + term)
}

/// Halves an interval until its integral no longer changes; `whole` is the integral before halving.
fn refine(
    ring: &mut impl FnMut(f64) -> DMat4,
    low: f64,
    high: f64,
    whole: DMat4,
    tolerance: f64,
    rule: &[DVec2],
) -> DMat4 {
    let middle = 0.5 * (low + high);
    let lower = quadrature(ring, low, middle, rule);
    let upper = quadrature(ring, middle, high, rule);
    let sum = lower + upper;
    if high - low < 1e-9 || sum.abs_diff_eq(whole, tolerance) {
        return sum;
    }
    refine(ring, low, middle, lower, tolerance, rule)
        + refine(ring, middle, high, upper, tolerance, rule)
}

/// Nodes (x) and weights (y) for integrals over (-1, 1) of functions with square roots at the ends.
///
/// They are those of Gauss-Legendre quadrature over t of f(-cos t) sin t: the substitution makes such ends smooth.
fn quadrature_rule() -> Vec<DVec2> {
    const NODES: u32 = 12;
    let half_turn = PI / 2.0;
    let degree = f64::from(NODES);
    (0..NODES)
        .map(|index| {
            // Newton's method on the Legendre polynomial, from Tricomi's estimate of its root.
            let mut root = -libm::cos(PI * (f64::from(index) + 0.75) / (degree + 0.5));
            let mut slope = 0.0;
            for _ in 0..6 {
                let (mut value, mut previous) = (root, 1.0);
                for k in 2..=NODES {
                    let k = f64::from(k);
                    let next = ((2.0 * k - 1.0) * root * value - (k - 1.0) * previous) / k;
                    (value, previous) = (next, value);
                }
                slope = degree * (root * value - previous) / (root * root - 1.0);
                root -= value / slope;
            }
            let weight = 2.0 / ((1.0 - root * root) * slope * slope);
            let (sine, cosine) = libm::sincos(half_turn * (1.0 + root));
            DVec2::new(-cosine, half_turn * weight * sine)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn sphere(x: f64, y: f64, z: f64, radius: f64) -> ClumpSphere {
        let center = DVec3::new(x, y, z);
        ClumpSphere { center, radius }
    }

    fn random_spheres(seed: u64, count: usize, spread: f64) -> Vec<ClumpSphere> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut unit = || f64::from(rng.next_u32()) / f64::from(u32::MAX);
        (0..count)
            .map(|_| {
                let center = DVec3::new(unit(), unit(), unit()) * spread;
                let radius = 0.5 + unit();
                ClumpSphere { center, radius }
            })
            .collect()
    }

    /// The largest difference of all quantities, each relative to its size.
    fn difference(a: &MassProperties, b: &MassProperties) -> f64 {
        let trace = |inertia: DMat3| inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
        let size = (trace(b.inertia) / b.mass).sqrt();
        let inertia = (a.inertia - b.inertia).to_cols_array();
        let inertia = inertia.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        (a.mass / b.mass - 1.0)
            .abs()
            .max(a.center_of_mass.distance(b.center_of_mass) / size)
            .max(inertia / trace(b.inertia))
    }

    /// Mass properties of the union by another method: columns along x with exact ends, on a grid of midpoints.
    fn columns(spheres: &[ClumpSphere], per_side: u32) -> MassProperties {
        let low = spheres
            .iter()
            .map(|s| s.center - s.radius)
            .fold(DVec3::INFINITY, DVec3::min);
        let high = spheres
            .iter()
            .map(|s| s.center + s.radius)
            .fold(DVec3::NEG_INFINITY, DVec3::max);
        let step = (high - low) / f64::from(per_side);
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for (j, k) in (0..per_side).flat_map(|j| (0..per_side).map(move |k| (j, k))) {
            let y = low.y + step.y * (f64::from(j) + 0.5);
            let z = low.z + step.z * (f64::from(k) + 0.5);
            let mut spans: Vec<(f64, f64)> = spheres
                .iter()
                .filter_map(|s| {
                    let away = DVec2::new(y - s.center.y, z - s.center.z).length_squared();
                    let half = (s.radius * s.radius - away).sqrt();
                    (half > 0.0).then_some((s.center.x - half, s.center.x + half))
                })
                .collect();
            spans.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut cursor = f64::NEG_INFINITY;
            for (start, end) in spans {
                let start = start.max(cursor);
                if end > start {
                    let length = (end - start) * step.y * step.z;
                    let middle = DVec3::new(0.5 * (start + end), y, z);
                    volume += length;
                    first += middle * length;
                    second += outer(middle, middle) * length;
                    second.x_axis.x += length * (end - start).powi(2) / 12.0;
                    cursor = end;
                }
            }
        }
        let center_of_mass = first / volume;
        let second = second - outer(center_of_mass, center_of_mass) * volume;
        MassProperties {
            mass: volume,
            center_of_mass,
            inertia: inertia_from_second_moment(second),
        }
    }

    fn difference_from_summed(spheres: &[ClumpSphere]) -> f64 {
        let union = union_of_spheres(spheres, 2500.0);
        difference(&union, &summed_spheres(spheres, 2500.0))
    }

    fn lattice(per_side: u32, spacing: f64, radius: f64) -> Vec<ClumpSphere> {
        let at = |i: u32| f64::from(i) * spacing;
        (0..per_side.pow(3))
            .map(|i| (i % per_side, i / per_side % per_side, i / per_side.pow(2)))
            .map(|(i, j, k)| sphere(at(i), at(j), at(k), radius))
            .collect()
    }

    #[test]
    fn two_unit_spheres_a_radius_apart() {
        let pair = [sphere(9.0, 2.5, 3.0, 1.0), sphere(9.0, 3.5, 3.0, 1.0)];
        let union = union_of_spheres(&pair, 1.0);
        let (axial, transverse) = (3.00414797, 5.21308031);
        let expected = DMat3::from_diagonal(DVec3::new(transverse, axial, transverse));
        assert!((union.mass - 2.25 * PI).abs() < 1e-11);
        assert!(union.center_of_mass.distance(DVec3::new(9.0, 3.0, 3.0)) < 1e-12);
        assert!(union.inertia.abs_diff_eq(expected, 6e-9));
    }

    #[test]
    fn spheres_that_do_not_overlap_add_up() {
        assert!(difference_from_summed(&[sphere(3.0, -1.0, 2.0, 0.5)]) < 1e-13);
        assert!(difference_from_summed(&lattice(3, 0.06, 0.03)) < 1e-13);
        let apart = [sphere(0.0, 0.0, 0.0, 1.0), sphere(3.0, 4.0, 5.0, 0.1)];
        assert!(difference_from_summed(&apart) < 1e-13);
        // A small overlap shows, so the check can fail.
        assert!(difference_from_summed(&lattice(3, 0.06, 0.0301)) > 1e-6);
    }

    #[test]
    fn hidden_spheres_change_nothing() {
        let open = random_spheres(7, 4, 1.5);
        let expected = union_of_spheres(&open, 2.0);
        let mut all = open.clone();
        all.iter_mut().for_each(|s| s.radius *= 0.4);
        // A sphere that touches the surface of the first one from inside.
        let radius = 0.25;
        let center = open[0].center + DVec3::X * (open[0].radius - radius);
        all.push(ClumpSphere { center, radius });
        all.extend_from_slice(&open);
        assert!(difference(&union_of_spheres(&all, 2.0), &expected) < 1e-12);
        all.reverse();
        assert!(difference(&union_of_spheres(&all, 2.0), &expected) < 1e-12);
    }

    #[test]
    fn agrees_with_columns() {
        // The difference is the error of the columns, which shrinks as their number grows.
        for (count, spread) in [(2, 1.0), (3, 1.0), (5, 1.5), (20, 2.5)] {
            let set = random_spheres(1, count, spread);
            let error = difference(&union_of_spheres(&set, 1.0), &columns(&set, 400));
            assert!(error < 3e-5, "{count} spheres: {error:e}");
        }
        // A cavity closed on all sides stays empty.
        let hollow = lattice(2, 1.0, 0.75);
        let error = difference(&union_of_spheres(&hollow, 1.0), &columns(&hollow, 400));
        assert!(error < 3e-5, "hollow: {error:e}");
    }

    #[test]
    fn turns_with_the_spheres() {
        for (count, spread) in [(2, 1.0), (3, 1.0), (8, 2.0), (60, 4.0)] {
            for seed in 0..20 {
                let set = random_spheres(seed, count, spread);
                let turn = DQuat::from_axis_angle(DVec3::new(2.0, 6.0, -3.0) / 7.0, seed as f64);
                let mut turned = set.clone();
                turned.iter_mut().for_each(|s| s.center = turn * s.center);
                let straight = union_of_spheres(&set, 1.0);
                let matrix = DMat3::from_quat(turn);
                let expected = MassProperties {
                    mass: straight.mass,
                    center_of_mass: turn * straight.center_of_mass,
                    inertia: matrix * straight.inertia * matrix.transpose(),
                };
                let error = difference(&union_of_spheres(&turned, 1.0), &expected);
                assert!(error < 1e-10, "{count} spheres, seed {seed}: {error:e}");
            }
        }
    }

    #[test]
    fn symmetric_shapes_have_symmetric_inertia() {
        // Many edges of caps cross in one point here.
        let inertia = union_of_spheres(&lattice(4, 1.0, 0.75), 1.0).inertia;
        let cube = DMat3::from_diagonal(DVec3::splat(inertia.x_axis.x));
        assert!(inertia.abs_diff_eq(cube, 1e-11 * inertia.x_axis.x));
    }

    #[test]
    fn five_hundred_spheres_around_a_ring_fill_a_torus() {
        let (ring, tube) = (1.0, 0.3);
        let beads: Vec<_> = (0..500)
            .map(|i| TAU * f64::from(i) / 500.0)
            .map(|angle| sphere(ring * angle.cos(), 0.0, ring * angle.sin(), tube))
            .collect();
        let start = std::time::Instant::now();
        let union = union_of_spheres(&beads, 1.0);
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds < 1.0, "{seconds} s");

        // The grooves between the beads take 1.5e-4 of the tube's section.
        let volume = 2.0 * PI * PI * ring * tube * tube;
        let axial = volume * (ring * ring + 0.75 * tube * tube);
        let across = volume * (0.5 * ring * ring + 0.625 * tube * tube);
        let torus = MassProperties {
            mass: volume,
            center_of_mass: DVec3::ZERO,
            inertia: DMat3::from_diagonal(DVec3::new(across, axial, across)),
        };
        let error = difference(&union, &torus);
        assert!((1e-4..2e-4).contains(&error), "{error:e}");
    }
}
