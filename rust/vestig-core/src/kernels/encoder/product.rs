//! 14-bit rows times 8-bit matrices: exact integer sums, then scale and bias.
//!
//! The sum of 1536 products of 8191 and 127 is below 2³¹, so neither order nor width matters.
//! (A weight of −128 makes no difference: 1536 · 128 · 8191 is below 2³¹ too.)

use super::{COLUMNS, INPUTS, Matrix};

/// Most rows that a tile has at any level.
pub(crate) const TILE_ROWS_MAX: usize = 14;
/// Sums of a tile: a row of one block's columns for each row of codes.
pub(crate) type Sums = [[i32; COLUMNS]; TILE_ROWS_MAX];

/// The one step that is written for each instruction set.
pub(crate) trait Tile {
    /// Most rows of a tile: as many as the registers hold.
    const ROWS: usize;
    /// Sums of up to `ROWS` rows of codes, `4 · blocks.len()` long each, over one column of
    /// blocks.
    fn sums(codes: &[i16], blocks: &[[i8; COLUMNS * INPUTS]], sums: &mut Sums);
}

/// Blocks that are widened to 16 bits at a time, once for all rows of a tile.
const WIDENED: usize = 32;

/// The definition, compiled for any machine.
pub(crate) struct Portable;

impl Tile for Portable {
    const ROWS: usize = TILE_ROWS_MAX;

    #[inline(always)]
    fn sums(codes: &[i16], blocks: &[[i8; COLUMNS * INPUTS]], sums: &mut Sums) {
        sums.fill([0; COLUMNS]);
        let rows = codes.chunks_exact(INPUTS * blocks.len());
        for (number, blocks) in blocks.chunks(WIDENED).enumerate() {
            let mut widened = [[[0_i16; COLUMNS]; INPUTS]; WIDENED];
            for (inputs, block) in widened.iter_mut().zip(blocks) {
                *inputs = std::array::from_fn(|input| {
                    std::array::from_fn(|column| block[INPUTS * column + input].into())
                });
            }
            for (row, sums) in rows.clone().zip(sums.iter_mut()) {
                let codes = row[number * WIDENED * INPUTS..].as_chunks::<INPUTS>().0;
                *sums = add_products(*sums, codes, &widened[..blocks.len()]);
            }
        }
    }
}

/// Sums of 16 columns with the products of a row's codes added.
#[inline(always)]
fn add_products(
    mut sums: [i32; COLUMNS],
    codes: &[[i16; INPUTS]],
    widened: &[[[i16; COLUMNS]; INPUTS]],
) -> [i32; COLUMNS] {
    for (codes, weights) in codes.iter().zip(widened) {
        for (code, weights) in codes.iter().zip(weights) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += i32::from(*code) * i32::from(*weight);
            }
        }
    }
    sums
}

/// `out` = rows of codes times the matrix: f32(sum) · (scale of row · scale of column) + bias.
#[inline(always)]
pub(super) fn product<T: Tile>(
    codes: &[i16],
    scales: &[f32],
    matrix: &Matrix<'_>,
    out: &mut [f32],
) {
    let columns = matrix.columns();
    let mut sums = [[0; COLUMNS]; TILE_ROWS_MAX];
    for (number, (blocks, of_columns)) in matrix.column_blocks().enumerate() {
        let mut first = 0;
        for tiles in (1..=scales.len().div_ceil(T::ROWS)).rev() {
            // Tiles of about one height: a last one of a single row would cost as much as others.
            let rows = (scales.len() - first).div_ceil(tiles);
            let inputs = matrix.inputs();
            T::sums(&codes[first * inputs..][..rows * inputs], blocks, &mut sums);
            for (row, sums) in sums[..rows].iter().enumerate() {
                let at = (first + row) * columns + number * COLUMNS;
                let Some(out) = out[at..].first_chunk_mut::<COLUMNS>() else {
                    break;
                };
                finish(sums, scales[first + row], of_columns, out);
            }
            first += rows;
        }
    }
}

#[inline(always)]
fn finish(
    sums: &[i32; COLUMNS],
    scale: f32,
    (scales, biases): (&[f32; COLUMNS], &[f32; COLUMNS]),
    out: &mut [f32; COLUMNS],
) {
    for column in 0..COLUMNS {
        out[column] = sums[column] as f32 * (scale * scales[column]) + biases[column];
    }
}
