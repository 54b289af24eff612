//! 8-bit matrices in blocks of 16 columns × 4 inputs.

use crate::{CoreError, Result};

/// Columns of a block.
pub const COLUMNS: usize = 16;
/// Inputs of a block.
pub const INPUTS: usize = 4;
const BLOCK: usize = COLUMNS * INPUTS;

/// An 8-bit matrix of inputs × columns, with a scale and a bias for each column.
///
/// Blocks lie column by column of blocks, in each from the first inputs to the last; in a block
/// the four inputs of a column lie together: value `(input, column)` is number
/// `4·(column mod 16) + input mod 4` of block `(column div 16)·(inputs div 4) + input div 4`.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    inputs: usize,
    blocks: &'a [[i8; BLOCK]],
    scales: &'a [f32],
    biases: &'a [f32],
}

impl<'a> Matrix<'a> {
    /// A view of packed arrays; there are as many columns as scales.
    ///
    /// # Errors
    /// [`CoreError::Invalid`] unless the lengths fit together.
    pub fn new(
        inputs: usize,
        blocks: &'a [[i8; BLOCK]],
        scales: &'a [f32],
        biases: &'a [f32],
    ) -> Result<Self> {
        let columns = scales.len();
        let whole = inputs.is_multiple_of(INPUTS) && inputs > 0 && columns.is_multiple_of(COLUMNS);
        if !whole || biases.len() != columns || blocks.len() * BLOCK != inputs * columns {
            let text = format!(
                "expected a matrix of {inputs} × {columns} with a bias for each column, got {} \
                 values and {} biases",
                blocks.len() * BLOCK,
                biases.len()
            );
            return Err(CoreError::Invalid(text));
        }
        Ok(Self {
            inputs,
            blocks,
            scales,
            biases,
        })
    }

    /// Length of the rows that it multiplies.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Length of the rows that come out.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.scales.len()
    }

    /// For each 16 columns their blocks, scales and biases.
    #[inline(always)]
    pub(super) fn column_blocks(
        &self,
    ) -> impl Iterator<Item = (&'a [[i8; BLOCK]], OfColumns<'a>)> + use<'a> {
        let scales = self.scales.as_chunks::<COLUMNS>().0.iter();
        let of_columns = scales.zip(self.biases.as_chunks::<COLUMNS>().0);
        self.blocks
            .chunks_exact(self.inputs / INPUTS)
            .zip(of_columns)
    }
}

/// Scales and biases of 16 columns.
pub(super) type OfColumns<'a> = (&'a [f32; COLUMNS], &'a [f32; COLUMNS]);

/// The blocks of a matrix whose rows, one for each input, lie one behind the other.
///
/// # Errors
/// [`CoreError::Invalid`] where inputs are no multiple of 4, columns none of 16, or `rows` are not
/// inputs × columns values.
pub fn pack(rows: &[i8], inputs: usize, columns: usize) -> Result<Vec<[i8; BLOCK]>> {
    let whole = inputs.is_multiple_of(INPUTS) && columns.is_multiple_of(COLUMNS) && columns > 0;
    if !whole || inputs.checked_mul(columns) != Some(rows.len()) {
        let text = format!(
            "expected {inputs} × {columns} values in whole blocks of {INPUTS} × {COLUMNS}, got {}",
            rows.len()
        );
        return Err(CoreError::Invalid(text));
    }
    let mut blocks = vec![[0; BLOCK]; rows.len() / BLOCK];
    for (input, row) in rows.chunks_exact(columns).enumerate() {
        for (column, value) in row.iter().enumerate() {
            let block = column / COLUMNS * (inputs / INPUTS) + input / INPUTS;
            blocks[block][INPUTS * (column % COLUMNS) + input % INPUTS] = *value;
        }
    }
    Ok(blocks)
}
