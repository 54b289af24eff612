//! The built-in embedder and the judge: which vector has a text, and does it answer a question?

mod encoder;
pub mod forward;
pub mod image;
pub mod judge;
pub mod onnx;
pub mod packed;
pub mod piece_axes;
mod pinned;
pub mod weights;
pub mod word_pieces;

pub use forward::{Hidden, Text, embed, embed_each, embed_each_with};
pub use judge::{JudgeWeights, Judgement, MemoryText, Pair};
pub use packed::{PackedWeights, SourceHashes};
pub use piece_axes::PieceAxes;
pub use weights::Weights;
pub use word_pieces::WordPieces;
