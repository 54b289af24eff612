//! Memory-mapped projection and ranking kernels of Vestig.
//!
//! Pure code over slices and files: no clock, no log, no environment, no Python. Each room uses
//! only those below it:
//!
//! | room | question it answers | uses |
//! |---|---|---|
//! | [`recall`] | Which memories answer a query, in which order, and why? | all below |
//! | [`query`] | Which rows pass a filter, are similar, are linked, are named? | snapshot and below |
//! | [`embed`] | Which word pieces and which vector has a text? | kernels, the map and the writer of files |
//! | [`snapshot`] | Which segments and tail make the state at a transaction? How is it published? | segment, kernels, words |
//! | [`segment`] | What lies in one file, byte by byte, and how is it read and built? | kernels |
//! | [`kernels`] | Which number follows from these slices? | error |
//! | [`words`] | Which tokens, index terms and names has a text? | — |
//!
//! **Invariants.** `unsafe` stands in `segment/map.rs` and `kernels/dispatch.rs` (with its
//! `x86.rs`) only. Files are written in `snapshot/writer.rs` only. No result depends on the
//! instruction set, the number of threads or how rows are divided among segments.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)
)]

pub mod embed;
pub mod error;
pub mod kernels;
pub mod query;
pub mod recall;
pub mod secrets;
pub mod segment;
pub mod snapshot;
pub mod words;

pub use error::{CoreError, Result};
