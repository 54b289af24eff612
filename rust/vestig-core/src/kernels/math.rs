//! The only `exp`, `ln` and `pow` that rank: `libm`, the same bits on every platform.
//!
//! Source: the musl-derived `libm` crate, error below 1 ulp for `exp` and `ln`. The standard
//! library's functions call the platform's libc and differ in the last bit.

/// eˣ. Dimensionless; overflow gives infinity, underflow 0.
#[inline]
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Natural logarithm. ln 0 = −∞; a negative argument gives NaN.
#[inline]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// x to the power y.
#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// 1 / (1 + e⁻ˣ), in [0, 1].
#[inline]
pub fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(pow(2.0, 10.0), 1024.0);
        assert_eq!(logistic(0.0), 0.5);
        assert_eq!(logistic(-1e9), 0.0);
        assert_eq!(logistic(1e9), 1.0);
    }
}
