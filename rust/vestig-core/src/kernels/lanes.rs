//! Operations of several kernels on lanes of float32 values.

/// 1.5 · 2²³: a number below 2²² that is added to it is rounded half to even.
pub(super) const ROUND: f32 = 12_582_912.0;
/// Values that are compared at once.
const LANES: usize = 64;

/// The larger of each two values; a NaN in `b` never is.
#[inline(always)]
pub(super) fn larger<const N: usize>(a: &[f32; N], b: &[f32; N]) -> [f32; N] {
    std::array::from_fn(|j| if b[j] > a[j] { b[j] } else { a[j] })
}

/// The largest lane.
#[inline(always)]
pub(super) fn largest<const N: usize>(mut lanes: [f32; N]) -> f32 {
    let mut half = N / 2;
    while half > 0 {
        for j in 0..half {
            let (a, b) = (lanes[j], lanes[j + half]);
            lanes[j] = if b > a { b } else { a };
        }
        half /= 2;
    }
    lanes[0]
}

/// The largest |x|; 0 for none.
#[inline(always)]
pub(super) fn largest_magnitude(values: &[f32]) -> f32 {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut most = [0.0; LANES];
    for block in blocks {
        most = larger(&most, &block.map(f32::abs));
    }
    for (most, value) in most.iter_mut().zip(rest) {
        *most = if value.abs() > *most {
            value.abs()
        } else {
            *most
        };
    }
    largest(most)
}
