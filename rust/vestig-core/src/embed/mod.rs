//! The built-in embedder: which vector has a text?

pub mod forward;
pub mod onnx;
pub mod packed;
pub mod piece_axes;
mod pinned;
pub mod weights;
pub mod word_pieces;

pub use forward::{Hidden, embed, embed_each, embed_each_with};
pub use packed::{PackedWeights, SourceHashes};
pub use piece_axes::PieceAxes;
pub use weights::Weights;
pub use word_pieces::WordPieces;
