//! Layers of a transformer encoder over 8-bit weights, defined to the bit.
//!
//! Rows are rounded to 14 bit before each product and multiplied with 8-bit weights in integers,
//! exactly; everything else is float32 with one order of operations. So neither the instruction
//! level nor the rows that are computed together change a bit.

mod attention;
mod functions;
mod matrix;
mod product;
mod rows;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use functions::{erf, exp};
pub use matrix::{COLUMNS, INPUTS, Matrix, pack};
pub(crate) use product::{Portable, Tile};
#[cfg(target_arch = "x86_64")]
pub(crate) use product::{Sums, TILE_ROWS_MAX};

use super::dispatch::{self, Level};
use attention::{Heads, attend};
use functions::gelu;
use product::product;
use rows::{add_norm, norm_row, quantise};

/// Length of a hidden state.
pub const HIDDEN: usize = 384;
/// Length of the inner state of a feed-forward step.
pub const INTERMEDIATE: usize = 1536;
/// Length of the part of a hidden state that one head of attention reads.
const HEAD: usize = 32;
const HEADS: usize = HIDDEN / HEAD;
/// Rows whose inner states are computed together: these and a block of weights fit into the cache
/// of a core.
const INNER_ROWS: usize = 48;

/// Weights of a layer norm.
#[derive(Clone, Copy)]
pub struct Norm<'a> {
    /// Factor of each value.
    pub weight: &'a [f32; HIDDEN],
    /// Term of each value, added after the factor.
    pub bias: &'a [f32; HIDDEN],
}

/// Weights of one layer.
#[derive(Clone, Copy)]
pub struct Layer<'a> {
    /// 384 × 384: queries of attention.
    pub query: Matrix<'a>,
    /// 384 × 384: keys of attention.
    pub key: Matrix<'a>,
    /// 384 × 384: values of attention.
    pub value: Matrix<'a>,
    /// 384 × 384: output of attention.
    pub output: Matrix<'a>,
    /// Behind attention and its residual.
    pub attention_norm: Norm<'a>,
    /// 384 × 1536: into the inner state.
    pub up: Matrix<'a>,
    /// 1536 × 384: out of the inner state.
    pub down: Matrix<'a>,
    /// Behind the feed-forward step and its residual.
    pub output_norm: Norm<'a>,
}

/// The hidden states of some texts and the buffers of their layers.
#[derive(Default)]
pub struct States {
    /// A row for each word piece of each text.
    pub rows: Vec<[f32; HIDDEN]>,
    codes: Vec<i16>,
    scales: Vec<f32>,
    queries: Vec<[f32; HIDDEN]>,
    keys: Vec<[f32; HIDDEN]>,
    values: Vec<[f32; HIDDEN]>,
    inner: Vec<f32>,
    heads: Heads,
}

impl States {
    /// Norms the rows, which are sums of embeddings.
    pub fn norm(&mut self, norm: &Norm<'_>) {
        for row in &mut self.rows {
            norm_row(row, norm);
        }
    }

    /// Runs one layer over the rows by a named level; attention stays within each of `texts`, which
    /// are ranges of rows.
    pub fn layer(&mut self, level: Level, layer: &Layer<'_>, texts: &[Range<usize>]) {
        dispatch::encoder_layer(level, layer, texts, self);
    }
}

/// One layer; compiled once for each instruction level.
#[inline(always)]
pub(crate) fn layer_lanes<T: Tile>(layer: &Layer<'_>, texts: &[Range<usize>], states: &mut States) {
    let States {
        rows,
        codes,
        scales,
        queries,
        keys,
        values,
        inner,
        heads,
    } = states;
    let count = rows.len();
    for buffer in [&mut *queries, &mut *keys, &mut *values] {
        buffer.resize(count, [0.0; HIDDEN]);
    }
    codes.resize(HIDDEN * count.max(INTERMEDIATE / HIDDEN * INNER_ROWS), 0);
    scales.resize(count, 0.0);
    inner.resize(INTERMEDIATE * INNER_ROWS, 0.0);

    quantise(rows.as_flattened(), HIDDEN, codes, scales);
    let projections = [
        (&layer.query, &mut *queries),
        (&layer.key, &mut *keys),
        (&layer.value, &mut *values),
    ];
    for (matrix, out) in projections {
        product::<T>(codes, scales, matrix, out.as_flattened_mut());
    }
    for text in texts {
        for head in 0..HEADS {
            let text = text.clone();
            attend(
                head,
                &mut queries[text.clone()],
                &keys[text.clone()],
                &values[text],
                heads,
            );
        }
    }
    let together = rows.chunks_mut(INNER_ROWS).zip(queries.chunks(INNER_ROWS));
    for (rows, attended) in together {
        let count = rows.len();
        let (scales, inner) = (&mut scales[..count], &mut inner[..count * INTERMEDIATE]);
        let terms = &mut keys[..count];
        quantise(attended.as_flattened(), HIDDEN, codes, scales);
        product::<T>(codes, scales, &layer.output, terms.as_flattened_mut());
        add_norm(rows, terms, &layer.attention_norm);
        quantise(rows.as_flattened(), HIDDEN, codes, scales);
        product::<T>(codes, scales, &layer.up, inner);
        gelu(inner);
        quantise(inner, INTERMEDIATE, codes, scales);
        product::<T>(codes, scales, &layer.down, terms.as_flattened_mut());
        add_norm(rows, terms, &layer.output_norm);
    }
}
