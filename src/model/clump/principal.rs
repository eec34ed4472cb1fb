//! Principal axes of inertia.

use glam::{DMat3, DQuat, DVec3};
use nalgebra::{Matrix3, SymmetricEigen};

/// Off-diagonal terms below this part of the trace count as round-off.
const DIAGONAL_TOLERANCE: f64 = 1e-9;

/// Principal moments and principal axes of a finite symmetric `inertia` tensor (kg m²).
///
/// The moments (kg m²) and the rotation R, whose columns are the axes, satisfy inertia = R diag(moments) Rᵀ.
///
/// A tensor that is diagonal already keeps the given axes. Otherwise there are 24 right-handed frames along the principal
/// axes, and R is the frame nearest to the given axes. So neither the order nor the signs depend on how the axes were found.
pub fn principal_frame(inertia: DMat3) -> (DVec3, DQuat) {
    let diagonal = inertia.diagonal();
    let off_diagonal = DVec3::new(inertia.y_axis.z, inertia.z_axis.x, inertia.x_axis.y);
    if off_diagonal.abs().max_element() <= DIAGONAL_TOLERANCE * diagonal.element_sum().abs() {
        return (diagonal, DQuat::IDENTITY);
    }
    let eigen = SymmetricEigen::new(Matrix3::from(inertia.to_cols_array_2d()));
    let moments = DVec3::from(<[f64; 3]>::from(eigen.eigenvalues));
    let axes = DMat3::from_cols_array_2d(&eigen.eigenvectors.into());

    let mut best = (f64::NEG_INFINITY, moments, DMat3::IDENTITY);
    for [a, b, c] in [
        [0, 1, 2],
        [1, 2, 0],
        [2, 0, 1],
        [1, 0, 2],
        [0, 2, 1],
        [2, 1, 0],
    ] {
        for (sign_a, sign_b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
            let (x, y) = (axes.col(a) * sign_a, axes.col(b) * sign_b);
            let frame = DMat3::from_cols(x, y, x.cross(y));
            // The larger the trace, the smaller the angle of the rotation.
            let trace = frame.diagonal().element_sum();
            if trace > best.0 {
                best = (trace, DVec3::new(moments[a], moments[b], moments[c]), frame);
            }
        }
    }
    (best.1, DQuat::from_mat3(&best.2).normalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assemble(moments: DVec3, axes: DQuat) -> DMat3 {
        let axes = DMat3::from_quat(axes);
        axes * DMat3::from_diagonal(moments) * axes.transpose()
    }

    fn symmetric(d: [f64; 3], o: [f64; 3]) -> DMat3 {
        DMat3::from_cols_array(&[d[0], o[2], o[1], o[2], d[1], o[0], o[1], o[0], d[2]])
    }

    #[test]
    fn a_diagonal_tensor_keeps_its_axes() {
        let moments = DVec3::new(3.0, 1.0, 2.0);
        let tensor = symmetric(moments.into(), [1e-10, -2e-10, 3e-9]);
        assert_eq!(principal_frame(tensor), (moments, DQuat::IDENTITY));
    }

    #[test]
    fn a_tensor_turned_a_little_keeps_order_and_signs() {
        let moments = DVec3::new(3.0, 1.0, 2.0);
        let turn = DQuat::from_axis_angle(DVec3::new(-2.0, 3.0, 6.0) / 7.0, 0.5);
        let (found, axes) = principal_frame(assemble(moments, turn));
        assert!(found.abs_diff_eq(moments, 1e-14));
        assert!(axes.abs_diff_eq(turn, 1e-14) || axes.abs_diff_eq(-turn, 1e-14));
    }

    fn check(tensor: DMat3) -> Result<(), TestCaseError> {
        let (moments, axes) = principal_frame(tensor);
        let size = tensor
            .to_cols_array()
            .iter()
            .fold(0.0, |most: f64, x| most.max(x.abs()));
        let kept = axes == DQuat::IDENTITY;
        let tolerance = size
            * if kept {
                3.0 * DIAGONAL_TOLERANCE
            } else {
                1e-14
            };
        prop_assert!(assemble(moments, axes).abs_diff_eq(tensor, tolerance));
        prop_assert!((axes.length() - 1.0).abs() < 1e-15);
        // The nearest of the 24 frames is never more than 62.8 degrees away.
        prop_assert!(axes.w.abs() > 0.8535);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn reconstructs_any_symmetric_tensor(
            d in prop::array::uniform3(-1.0..1.0),
            o in prop::array::uniform3(-1.0..1.0),
            exponent in -30..10,
        ) {
            check(symmetric(d, o) * 10.0_f64.powi(exponent))?;
        }

        #[test]
        fn reconstructs_bodies_of_revolution(
            q in prop::array::uniform4(-1.0..1.0),
            axial in 0.0..2.0,
            skew in prop::sample::select(vec![0.0, 1e-15, 1e-8]),
        ) {
            let turn = DQuat::from_array(q).normalize();
            check(assemble(DVec3::new(1.0, 1.0 + skew, axial), turn))?;
        }
    }
}
