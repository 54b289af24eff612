//! The weights of a MiniLM model of six layers that the forward pass reads.

use crate::Result;
pub use crate::kernels::encoder::{HIDDEN, INTERMEDIATE, Layer, Matrix, Norm, pack};

/// Layers of the model.
pub const LAYERS: usize = 6;
/// Word pieces of the vocabulary.
pub const VOCABULARY: usize = 30_522;
/// Rows of the table of positions.
pub const POSITIONS: usize = 512;
/// Most word pieces of a text that are read, the marks of its ends included.
pub const PIECES_MAX: usize = 256;

/// A row of 8-bit values and its scale: value i is `f32(row[i]) · scale`.
pub type Row<'a> = (&'a [i8; HIDDEN], f32);

/// The weights. Every method may fail where an array is checked when it is first read.
pub trait Weights: Sync {
    /// The row of a word piece; an id is below [`VOCABULARY`], any other is an error.
    fn word(&self, id: u32) -> Result<Row<'_>>;
    /// The row of a position; `at` is below [`PIECES_MAX`].
    fn position(&self, at: usize) -> Result<Row<'_>>;
    /// The row that every piece of a token type gains.
    fn token_type(&self, number: usize) -> Result<&[f32; HIDDEN]>;
    /// The norm behind the embeddings.
    fn embedding_norm(&self) -> Result<Norm<'_>>;
    /// The weights of layer 0 … 5.
    fn layer(&self, number: usize) -> Result<Layer<'_>>;
}
