//! The built-in embedder, the judge and the version reader: which vector has a text, does it answer a
//! question, and does it take the place of another one?

mod adapter;
mod cross_encoder;
mod encoder;
pub mod forward;
pub mod image;
pub mod judge;
pub mod onnx;
pub mod packed;
pub mod piece_axes;
mod pinned;
pub mod version_reader;
pub mod weights;
pub mod word_pieces;

pub use cross_encoder::{CrossEncoderWeights, Files, Sources};
pub use forward::{Hidden, Text, embed, embed_each, embed_each_with};
pub use judge::{Judgement, MemoryText, Pair};
pub use packed::{PackedWeights, SourceHashes};
pub use piece_axes::PieceAxes;
pub use version_reader::Triple;
pub use weights::Weights;
pub use word_pieces::WordPieces;
