//! Which segments a publication keeps, and which a merge takes.

use std::ops::Range;

use crate::segment::format::{SegmentEntry, header_crc};
use crate::snapshot::{Part, Snapshot};

/// A publication merges by itself only beyond this many segments, far below what a manifest can
/// name: only where nobody ever merges.
const SEGMENTS_MAX: usize = 1024;

/// Manifest entries of the published parts; None when the manifest on disk lacks one of them.
#[must_use]
pub fn entries(held: &Snapshot, named: &[SegmentEntry]) -> Option<Vec<SegmentEntry>> {
    let find = |part: &Part| named.iter().find(|entry| names(entry, part)).cloned();
    held.parts[..held.published].iter().map(find).collect()
}

/// Returns whether an entry is of this part.
#[must_use]
pub fn names(entry: &SegmentEntry, part: &Part) -> bool {
    part.segment.name() == Some(&entry.name)
        && header_crc(part.segment.image()).is_ok_and(|crc| crc == entry.crc)
}

/// First of the parts that a publication makes one segment of: the tail. Where parts before it are
/// written again, since they hold a forgotten memory, the last ones go with it as long as each is no
/// larger than all behind it: many forgettings leave few segments, and none merges more than that.
#[must_use]
pub fn first_written(held: &Snapshot) -> usize {
    let published = &held.parts[..held.published];
    let forgets = published.iter().any(|part| held.holds_removed(part));
    if !forgets && held.published < SEGMENTS_MAX {
        return held.published;
    }
    if held.published < SEGMENTS_MAX {
        first_small(&live_rows(held), held.published)
    } else {
        first_by_size(&live_rows(held)).min(held.published)
    }
}

fn live_rows(held: &Snapshot) -> Vec<usize> {
    held.parts.iter().map(|part| part.live_rows).collect()
}

/// The published parts that a merge makes into one: all when no more than one shall stay; nothing
/// when no more than `max_segments` are there, or when each is larger than all behind it together,
/// so that more than `max_segments` stay only as log₂ of the rows. Reads at most `max_bytes`.
#[must_use]
pub fn merged(held: &Snapshot, max_segments: usize, max_bytes: u64) -> Option<Range<usize>> {
    let published = &held.parts[..held.published];
    let bytes = published
        .iter()
        .map(|part| part.segment.image().len() as u64);
    chosen(
        &live_rows(held)[..held.published],
        &bytes.collect::<Vec<u64>>(),
        max_segments,
        max_bytes,
    )
}

/// From the first segment that is no larger than all behind it together to the last. What stays
/// is larger than all behind it, so a row is written O(log n) times.
fn chosen(
    rows: &[usize],
    bytes: &[u64],
    max_segments: usize,
    max_bytes: u64,
) -> Option<Range<usize>> {
    let count = rows.len();
    if count <= max_segments.max(1) {
        return None;
    }
    let first = if max_segments <= 1 {
        0
    } else {
        first_by_size(rows)
    };
    let mut read = 0_u64;
    let fitting = bytes[first..].iter().rev().take_while(|bytes| {
        read = read.saturating_add(**bytes);
        read <= max_bytes
    });
    let taken = fitting.count();
    (taken >= 2).then(|| count - taken..count)
}

fn first_by_size(rows: &[usize]) -> usize {
    let mut behind: usize = rows.iter().sum();
    rows.iter()
        .take_while(|rows| {
            behind -= **rows;
            **rows > behind
        })
        .count()
}

/// The first of the last of these that are each no larger than all behind them; `published` or one
/// before it.
fn first_small(rows: &[usize], published: usize) -> usize {
    let mut behind: usize = rows[published..].iter().sum();
    let small = rows[..published].iter().rev().take_while(|rows| {
        let small = **rows <= behind;
        behind += **rows;
        small
    });
    published - small.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgettings_leave_few_segments_and_write_little() {
        for tail in [1, 20] {
            let (mut sizes, mut written) = (vec![2048, 2048, 2048, 1800], 0);
            for _ in 0..1000 {
                sizes.push(tail);
                let first = first_small(&sizes, sizes.len() - 1);
                let rows: usize = sizes[first..].iter().sum();
                sizes.splice(first.., [rows]);
                written += rows;
                assert!(sizes.len() <= 16, "{sizes:?}");
            }
            assert!(written <= 1000 * tail * 12, "{written}");
        }
    }

    #[test]
    fn merging_writes_a_row_a_logarithmic_number_of_times() {
        for max_segments in [2, 6, 12] {
            let (mut sizes, mut written) = (Vec::new(), 0);
            for published in 1_usize..=4096 {
                sizes.push(1);
                written += 1;
                while let Some(range) = chosen(&sizes, &vec![0; sizes.len()], max_segments, 0) {
                    let rows: usize = sizes[range.clone()].iter().sum();
                    sizes.splice(range, [rows]);
                    written += rows;
                }
                let levels = published.ilog2() as usize + 2;
                assert!(sizes.len() <= max_segments.max(levels));
                assert_eq!(sizes.iter().sum::<usize>(), published);
                let most = published as f64 * (2.0 + (published as f64).log2());
                assert!(f64::from(written as u32) <= most, "{published}: {written}");
            }
        }
    }

    #[test]
    fn a_merge_reads_no_more_than_it_may() {
        let bytes = [70, 50, 40, 30, 20, 2, 1];
        assert_eq!(chosen(&[7, 5, 4, 3, 2, 1, 1], &bytes, 6, 64), Some(3..7));
        assert_eq!(chosen(&[7, 5, 4, 3, 2, 1, 1], &bytes, 6, 2), None);
        assert_eq!(chosen(&[7, 5, 4, 3, 2, 1, 1], &bytes, 1, 999), Some(0..7));
        assert_eq!(chosen(&[7, 5], &bytes[..2], 2, 999), None);
        assert_eq!(chosen(&[7], &bytes[..1], 0, 999), None);
        assert_eq!(chosen(&[], &[], 1, 999), None);
    }
}
