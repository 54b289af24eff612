//! A hint to the allocator: large blocks that one query frees serve the next one.
//!
//! An allocator that gives every large column back to the system pays for each of its pages again
//! at the next query, which costs more than filling them: a third of a query over 60,000 memories
//! of a file. glibc's bound for that is the largest mapped block that was freed so far; one such
//! block, never touched, is freed here. Other allocators are not affected.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of all columns of a query, by row.
const ROW_BYTES: usize = 256;
/// glibc looks at blocks of at most 32 MiB, its own header included.
const MOST: usize = (32 << 20) - (64 << 10);

/// Makes the allocator keep about as much as a query over so many rows needs, at most `MOST`.
pub(super) fn hint(rows: usize) {
    static HINTED: AtomicUsize = AtomicUsize::new(0);
    let bytes = rows.saturating_mul(ROW_BYTES).min(MOST);
    let bytes = bytes.next_power_of_two().min(MOST);
    if HINTED.fetch_max(bytes, Ordering::Relaxed) < bytes {
        drop(black_box(Vec::<u8>::with_capacity(bytes)));
    }
}
