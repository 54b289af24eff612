//! What a row keeps of its text beside the words: features, the title as a name, token vectors.

use super::{NO_STRING, Segment};
use crate::format::Section;
use crate::pieces::{PIECE_LANES, Pieces};

impl Segment {
    /// What the text of a row is like (`ports.ProjectionRow`).
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

    /// Token vectors of a row.
    #[must_use]
    pub fn pieces(&self, row: usize) -> Pieces<'_> {
        let offsets = self.column::<u32>(Section::PieceOffsets);
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        let codes = range.start * PIECE_LANES..range.end * PIECE_LANES;
        Pieces {
            ids: &self.column::<u32>(Section::PieceIds)[range.clone()],
            codes: &self.column::<i8>(Section::PieceCodes)[codes],
            scales: &self.column::<f32>(Section::PieceScales)[range],
        }
    }
}
