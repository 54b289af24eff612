//! Which segments a publication keeps, and which it merges.

use crate::format::{SegmentEntry, header_crc};
use crate::snapshot::{Part, Snapshot};

/// More published segments than this are merged.
const SEGMENTS_MAX: usize = 6;

/// Manifest entries of the published parts; None when the manifest on disk lacks one of them.
#[must_use]
pub fn entries(held: &Snapshot, named: &[SegmentEntry]) -> Option<Vec<SegmentEntry>> {
    let find = |part: &Part| {
        let crc = header_crc(part.segment.image()).ok()?;
        let wanted = |entry: &&SegmentEntry| part.segment.name() == Some(&entry.name);
        named
            .iter()
            .find(wanted)
            .filter(|entry| entry.crc == crc)
            .cloned()
    };
    held.parts[..held.published].iter().map(find).collect()
}

/// First part to merge: the tail, or so much that few segments stay and each is larger than all
/// behind it together, which keeps the cost of merging logarithmic. A part that holds a forgotten
/// memory goes, and with it all behind it, which may mask rows of it.
#[must_use]
pub fn first_merged(held: &Snapshot) -> usize {
    let by_size = first_by_size(held);
    held.first_with_removed()
        .map_or(by_size, |with| with.min(by_size))
}

fn first_by_size(held: &Snapshot) -> usize {
    if held.published < SEGMENTS_MAX {
        return held.published;
    }
    let mut behind: usize = held.parts.iter().map(|part| part.live_rows).sum();
    for (i, part) in held.parts[..held.published].iter().enumerate() {
        behind -= part.live_rows;
        if part.live_rows <= behind || i + 1 == SEGMENTS_MAX {
            return i;
        }
    }
    held.published
}
