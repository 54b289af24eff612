//! Kernels: slices in, values out. No kernel calls another room of the crate.
//!
//! Numbers that rank are defined to the bit: no kernel's result depends on the
//! instruction level, the number of threads or the layout of segments.

pub mod author_names;
pub mod bits;
pub mod byte_runs;
pub mod dates;
pub mod digests;
pub mod dispatch;
pub mod dot;
pub mod encoder;
pub mod entity_walk;
mod lanes;
pub mod ledger_pages;
pub mod lexical;
pub mod math;
pub mod max_sim;
pub mod metadata;
pub(crate) mod number_map;
pub mod piece_codes;
pub mod quantised;
pub mod rng;
pub mod rolling_hash;
pub mod temporal;
pub mod tiles;
pub mod top_k;
pub mod tracerank;
pub mod walk;
