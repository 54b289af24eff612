//! A hint to the allocator: large blocks of one call serve the next one.
//!
//! An allocator that gives every large column back to the system pays for each of its pages again
//! at the next call, which costs more than filling them. glibc's bound for that follows the
//! largest mapped block that was freed: one such block, never touched, is given back here.
//! Elsewhere it changes nothing.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Columns of a call, by row.
const ROW_BYTES: usize = 256;
/// glibc looks at blocks of at most 32 MiB, its own header included.
const MOST: usize = (32 << 20) - (64 << 10);

/// Keeps about as much as a call over so many rows needs, at most twice `MOST`.
pub(super) fn hint(rows: usize) {
    static HINTED: AtomicUsize = AtomicUsize::new(0);
    let bytes = rows.saturating_mul(ROW_BYTES).min(MOST);
    let bytes = bytes.next_power_of_two().min(MOST);
    if HINTED.fetch_max(bytes, Ordering::Relaxed) < bytes {
        drop(black_box(Vec::<u8>::with_capacity(bytes)));
    }
}
