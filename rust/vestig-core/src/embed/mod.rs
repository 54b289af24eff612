//! The built-in embedder: which vector has a text?

pub mod forward;
pub mod weights;

pub use forward::{Hidden, embed, embed_each};
pub use weights::Weights;
