//! Memory-mapped projection and ranking kernels of Vestig.
//!
//! Pure code over slices and files: no clock, no log, no environment, no Python. `kernels` are
//! numbers (slices in, values out), `words` the analyser of texts.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)
)]

pub mod error;
pub mod kernels;
pub mod query;
pub mod recall;
pub mod segment;
pub mod snapshot;
pub mod words;

pub use error::{CoreError, Result};
