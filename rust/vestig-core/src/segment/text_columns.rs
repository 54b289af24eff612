//! The columns of a row's text beside the words: features, the title as a name, codes of word
//! pieces.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{NO_STRING, Segment};
use crate::kernels::piece_codes::{Pieces, SPECIAL, Signs};
use crate::segment::format::Section;

/// How many rows hold each word piece by its number, counted at first use; and whether it was looked
/// up before.
#[derive(Default)]
pub(super) struct PieceCounts(OnceLock<Vec<u32>>, AtomicBool);

impl Segment {
    /// How many rows hold a word piece of this stored number, which is no special one; rows that no
    /// longer count included.
    #[must_use]
    pub(crate) fn piece_row_count(&self, id: u16) -> u32 {
        let counts = self.piece_counts.0.get_or_init(|| self.count_pieces());
        counts.get(usize::from(id)).copied().unwrap_or(0)
    }

    /// Returns whether counts are there or worth making, from the second call on: the rows of a
    /// small new segment are often merged into others before a second query.
    pub(crate) fn piece_counts_pay(&self) -> bool {
        self.piece_counts.0.get().is_some() || self.piece_counts.1.swap(true, Ordering::Relaxed)
    }

    fn count_pieces(&self) -> Vec<u32> {
        let ids = self.column::<u16>(Section::PieceIds);
        let offsets = self.column::<u32>(Section::PieceOffsets);
        let plain = ids.iter().filter(|id| **id != SPECIAL);
        let length = plain.max().map_or(0, |most| usize::from(*most) + 1);
        // Row that was seen last, from 1, and the count.
        let mut counts = vec![(0_u32, 0_u32); length];
        for (row, pair) in (1..).zip(offsets.windows(2)) {
            for id in &ids[pair[0] as usize..pair[1] as usize] {
                if let Some((last, count)) = counts.get_mut(usize::from(*id)) {
                    *count += u32::from(*last != row);
                    *last = row;
                }
            }
        }
        counts.into_iter().map(|(_, count)| count).collect()
    }

    /// Returns what the text of a row is like (`ports.ProjectionRow`).
    #[must_use]
    pub fn features(&self, row: usize) -> u32 {
        self.column::<u32>(Section::Features)[row]
    }

    /// String number of the name that a row's title is.
    #[must_use]
    pub fn title(&self, row: usize) -> Option<u32> {
        let title = self.column::<u32>(Section::Titles)[row];
        (title != NO_STRING).then_some(title)
    }

    /// Codes of the word pieces of a row.
    #[must_use]
    pub fn pieces(&self, row: usize) -> Pieces<'_> {
        let offsets = self.column::<u32>(Section::PieceOffsets);
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        Pieces {
            ids: &self.column::<u16>(Section::PieceIds)[range.clone()],
            signs: &self.column::<Signs>(Section::PieceSigns)[range.clone()],
            scales: &self.column::<u16>(Section::PieceScales)[range],
        }
    }
}
