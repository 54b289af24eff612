//! The adapter of a cross-encoder: products of low rank that are added to the layers.

use std::rc::Rc;

use super::encoder::{MATRICES, Rest};
use super::image::Draft;
use super::weights::{HIDDEN, LAYERS, pack};
use crate::error::Result;
use crate::segment::map::bytes_of;

/// Rank of what is added to a matrix.
const RANK: usize = 16;
/// Matrices that share an inner factor: query, key and value; each other one has its own.
const TOGETHER: [usize; 4] = [3, 1, 1, 1];
/// Largest code of a weight.
const CODE_MAX: f64 = 127.0;

/// Packs the layers with the adapter. Its file has, layer by layer, what is added to query, key and
/// value together, to the output, up and down: 8-bit codes of the inner factor (rank × inputs) with a
/// scale for each row, 8-bit codes of the outer factor of each matrix (columns × rank) with a scale for
/// each column; then the biases of all six matrices, and weight and bias of both norms.
pub(super) fn fill_layers(
    image: &mut Draft<'_>,
    layers: &mut Rest<'_>,
    adapter: &mut Rest<'_>,
) -> Result<()> {
    for layer in 0..LAYERS {
        let mut factors = Vec::with_capacity(MATRICES.len());
        for together in TOGETHER {
            let (inputs, columns) = MATRICES[factors.len()];
            let what = format!("the adapter of matrix {} of layer {layer}", factors.len());
            let inner = Rc::new(scaled(adapter, RANK, inputs, &what)?);
            for _ in 0..together {
                factors.push((Rc::clone(&inner), scaled(adapter, columns, RANK, &what)?));
            }
        }
        for (number, (inputs, columns)) in MATRICES.into_iter().enumerate() {
            let what = format!("matrix {number} of layer {layer}");
            let codes = layers.codes(inputs * columns, &what)?;
            let scales = layers.scales(columns, &what)?;
            layers.floats(columns)?;
            let (inner, outer) = &factors[number];
            let (codes, scales) = changed(codes, &scales, inner, outer);
            image.put(bytes_of(&pack(&codes, inputs, columns)?))?;
            image.floats(&scales)?;
            image.floats(&adapter.floats(columns)?)?;
        }
        for _ in 0..4 {
            layers.floats(HIDDEN)?;
            image.floats(&adapter.floats(HIDDEN)?)?;
        }
    }
    Ok(())
}

/// The next rows of 8-bit codes with a scale for each row, one behind the other.
fn scaled(rest: &mut Rest<'_>, rows: usize, columns: usize, what: &str) -> Result<Vec<f64>> {
    let codes = rest.codes(rows * columns, what)?;
    let scales = rest.scales(rows, what)?;
    let of_row = |(row, scale): (&[i8], f32)| -> Vec<f64> {
        row.iter()
            .map(|code| f64::from(*code) * f64::from(scale))
            .collect()
    };
    Ok(codes.chunks(columns).zip(scales).flat_map(of_row).collect())
}

/// Codes (inputs × columns) and scales of a matrix, to which the product of both factors is added:
/// `inner` is rank × inputs, `outer` columns × rank. Each value is rounded to the nearest code, of two
/// as near to the even one.
fn changed(codes: &[i8], scales: &[f32], inner: &[f64], outer: &[f64]) -> (Vec<i8>, Vec<f32>) {
    let (columns, inputs) = (scales.len(), codes.len() / scales.len().max(1));
    let (mut made, mut made_scales) = (vec![0; codes.len()], Vec::with_capacity(columns));
    let mut values = vec![0.0; inputs];
    for (column, scale) in scales.iter().enumerate() {
        for (input, value) in values.iter_mut().enumerate() {
            *value = f64::from(codes[input * columns + column]) * f64::from(*scale);
        }
        let weights = &outer[column * RANK..][..RANK];
        for (row, weight) in inner.chunks(inputs).zip(weights) {
            for (value, factor) in values.iter_mut().zip(row) {
                *value += weight * factor;
            }
        }
        let most = values
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let scale = (most / CODE_MAX) as f32;
        let step = if scale > 0.0 { f64::from(scale) } else { 1.0 };
        for (input, value) in values.iter().enumerate() {
            let code = (value / step).round_ties_even();
            made[input * columns + column] = code.clamp(-CODE_MAX, CODE_MAX) as i8;
        }
        made_scales.push(scale);
    }
    (made, made_scales)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_added_and_rounded_to_the_nearest_code() {
        // one input, two columns: 100 · 0.5 + 4 · 2 and −50 · 1 + 0
        let mut inner = vec![0.0; RANK];
        inner[0] = 4.0;
        let mut outer = vec![0.0; 2 * RANK];
        outer[0] = 2.0;
        let (codes, scales) = changed(&[100, -50], &[0.5, 1.0], &inner, &outer);
        assert_eq!(codes, [127, -127]);
        assert_eq!(scales, [(58.0 / 127.0) as f32, (50.0 / 127.0) as f32]);
        // nothing stays nothing
        let (codes, scales) = changed(&[0], &[0.0], &inner, &[0.0; RANK]);
        assert_eq!((codes, scales), (vec![0], vec![0.0]));
    }
}
