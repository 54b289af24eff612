//! exp and the Gaussian error function in float32: rounded operations only, none of them fused.

use crate::kernels::lanes::ROUND;

/// eˣ for x ≤ 0, relative error below 2·10⁻⁷; below −87 as at −87, which is 1.6·10⁻³⁸.
#[inline(always)]
#[allow(clippy::excessive_precision)]
pub fn exp(x: f32) -> f32 {
    let x = if x > -87.0 { x } else { -87.0 };
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    // ln 2 in two parts, of which the first has few bits: its product with n is exact.
    let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let mut sum = 1.381_461_3e-3_f32;
    for term in [
        8.368_71e-3,
        4.166_839e-2,
        0.166_665_2,
        0.499_999_94,
        1.0,
        1.0,
    ] {
        sum = sum * r + term;
    }
    // The low bits of `rounded` are n: they become the exponent of 2ⁿ.
    sum * f32::from_bits(rounded.to_bits().wrapping_add(127) << 23)
}

/// The error function, absolute error below 5·10⁻⁷: x·P(x²)/Q(x²), 1 from 3.9 on.
#[inline(always)]
#[allow(clippy::excessive_precision, clippy::approx_constant)]
pub fn erf(x: f32) -> f32 {
    let x = if x > -3.9 { x } else { -3.9 };
    let x = if x < 3.9 { x } else { 3.9 };
    let square = x * x;
    let mut above = 2.050_386_7e-6_f32;
    for term in [
        2.874_579_4e-4,
        3.836_895_8e-3,
        5.296_698e-2,
        0.191_941_44,
        1.128_379,
    ] {
        above = above * square + term;
    }
    let mut below = 3.823_077e-5_f32;
    for term in [
        1.181_739_6e-3,
        1.510_924_3e-2,
        0.114_758_38,
        0.503_435_4,
        1.0,
    ] {
        below = below * square + term;
    }
    let value = x * above / below;
    let value = if value > -1.0 { value } else { -1.0 };
    if value < 1.0 { value } else { 1.0 }
}

/// GELU by the error function, in place.
#[inline(always)]
pub(super) fn gelu(values: &mut [f32]) {
    for value in values {
        let x = *value;
        *value = 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_keeps_its_error_bound() {
        for step in 0..=87_000 {
            let x = -(step as f32) / 1_000.0;
            let wanted = f64::from(x).exp();
            let error = (f64::from(exp(x)) - wanted).abs() / wanted;
            assert!(error < 2e-7, "exp({x}) is off by {error}");
        }
        assert_eq!(exp(0.0), 1.0);
        for x in [-87.5, -1e30, f32::NEG_INFINITY] {
            assert_eq!(exp(x).to_bits(), exp(-87.0).to_bits());
        }
    }

    #[test]
    fn erf_keeps_its_error_bound_and_is_odd() {
        for step in 0..=50_000 {
            let x = step as f32 / 10_000.0;
            let error = (f64::from(erf(x)) - libm::erf(f64::from(x))).abs();
            assert!(error < 5e-7, "erf({x}) is off by {error}");
            assert_eq!(erf(-x).to_bits(), (-erf(x)).to_bits());
        }
        assert_eq!([erf(4.0), erf(f32::INFINITY), erf(-1e30)], [1.0, 1.0, -1.0]);
    }

    #[test]
    fn functions_have_these_bits() {
        let bits = |of: fn(f32) -> f32, at: [f32; 4]| at.map(|x| of(x).to_bits());
        let exps = [0x3f67_a36d, 0x3ebc_5ab2, 0x383e_6bce, 0x05bf_ecba];
        assert_eq!(bits(exp, [-0.1, -1.0, -10.0, -80.0]), exps);
        let erfs = [0x3c38_de12, 0x3f05_3f7c, 0x3f77_52ad, 0x3f7f_fe8d];
        assert_eq!(bits(erf, [0.01, 0.5, 1.5, 3.0]), erfs);
    }
}
