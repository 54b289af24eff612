//! Layers of a transformer encoder over 8-bit weights, defined to the bit.

mod matrix;

pub use matrix::{COLUMNS, INPUTS, Matrix, pack};

/// Length of a hidden state.
pub const HIDDEN: usize = 384;
/// Length of the inner state of a feed-forward step.
pub const INTERMEDIATE: usize = 1536;

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
