//! Memory-mapped projection and ranking kernels of Vestig.
//!
//! Pure code over slices and files: no clock, no log, no environment, no Python. `kernels` are
//! numbers (slices in, values out), `words` the analyser of texts.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)
)]

pub(crate) mod blocks;
pub mod eligible;
pub mod error;
pub mod graph;
pub mod kernels;
pub mod names;
pub mod recall;
pub mod related;
pub mod search;
pub mod segment;
pub mod similar;
pub mod snapshot;
pub mod words;

pub use error::{CoreError, Result};
