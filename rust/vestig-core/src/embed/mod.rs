//! The built-in embedder: which vector has a text?

pub mod forward;
pub mod onnx;
pub mod packed;
mod pinned;
pub mod token_codes;
pub mod weights;
pub mod word_pieces;

pub use forward::{Hidden, embed, embed_each, embed_each_with};
pub use packed::PackedWeights;
pub use token_codes::token_codes;
pub use weights::Weights;
pub use word_pieces::WordPieces;
