//! One segment bound to typed slices. Every invariant is checked once, in [`Segment::bind`], so
//! that neither accessors nor kernels check anything again.

use std::ops::Range;
use std::sync::OnceLock;

mod checks;
pub mod columns;
mod edge_checks;
mod events;
pub mod format;
pub mod image;
mod links;
pub mod map;
mod mention_counts;
mod note_rows;
pub mod packed_number;
pub mod row;
mod row_set_cache;
mod session_rows;
mod spellings;
mod text_columns;

pub use events::{EVENT_TYPES, EventRow, event_code};
pub use links::{EDGE_KINDS, EdgeRow, EdgeVersion, MENTIONS, OPEN_START, RELATED, Target};
pub(crate) use links::{
    EXTRA, KIND_SHIFT, Record, RelatedEnd, SOURCE_MASK, SUMMARIZES, by_strength, is_related,
    kind_of, plain_value, unpack,
};
pub(crate) use mention_counts::MentionCounts;
pub(crate) use note_rows::NoteRows;
pub(crate) use row_set_cache::cached;
pub(crate) use session_rows::{SessionKey, SessionRows};

use self::format::{Damage, Header, Identity, SECTION_TABLE, SECTIONS, Section, damaged};
use crate::segment::map::{Plain, Region, cast};
use crate::segment::row::Vector;

/// 16 raw bytes of a memory.
pub type Id = [u8; 16];
/// Null in string columns.
pub const NO_STRING: u32 = u32::MAX;
/// Null in time columns: later than everything.
pub const NO_TIME: i64 = i64::MAX;
/// Null in `sequence`.
pub const NO_SEQUENCE: i64 = i64::MIN;
/// Number of members of Kind, Status, OriginType, Stability.
const CODE_LIMITS: [u8; 4] = [3, 4, 4, 4];
/// Features are below this.
pub(crate) const FEATURES_END: u32 = 1 << 18;
/// Position of MEMORY in Kind.
pub(crate) const KIND_MEMORY: u8 = 0;
/// Position of SUMMARY in Kind.
pub(crate) const KIND_SUMMARY: u8 = 1;
/// Kind of a row that is an entity.
pub const KIND_ENTITY: u8 = 2;
/// Position of ACTIVE in Status.
pub(crate) const STATUS_ACTIVE: u8 = 0;

/// Small codes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Position in Kind.
    pub kind: u8,
    /// Position in Status.
    pub status: u8,
    /// Position in OriginType.
    pub origin: u8,
    /// Position in Stability.
    pub stability: u8,
    /// True if it is pinned.
    pub pinned: bool,
    /// True if it has a vector.
    pub embedded: bool,
    /// True if its time is only that of its file, which says nothing of its text.
    pub undated: bool,
}

impl Attributes {
    /// As stored.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        let (pinned, embedded) = (u8::from(self.pinned), u8::from(self.embedded));
        [
            self.kind,
            self.status,
            self.origin,
            self.stability,
            pinned,
            embedded,
            u8::from(self.undated),
            0,
        ]
    }

    fn from_bytes(b: [u8; 8]) -> Self {
        Self {
            kind: b[0],
            status: b[1],
            origin: b[2],
            stability: b[3],
            pinned: b[4] == 1,
            embedded: b[5] == 1,
            undated: b[6] == 1,
        }
    }
}

/// Row versions of one image, sorted by (seq, id), never changed.
pub struct Segment {
    region: Region,
    header: Header,
    ranges: [Range<usize>; SECTIONS],
    lanes: usize,
    name: Option<String>,
    embedded: Vec<u64>,
    memory_rows: usize,
    /// See `incoming_starts`.
    starts: OnceLock<Vec<u32>>,
    /// See `mention_counts`.
    counts: mention_counts::MentionCache,
    /// See `rows_ascend`.
    ascend: OnceLock<bool>,
    sessions: session_rows::SessionCache,
    row_sets: row_set_cache::RowSetCache,
    piece_counts: text_columns::PieceCounts,
    spellings: spellings::SpellingCache,
}

impl Segment {
    /// Binds an image. `name`: its file name, None when it is held in memory only.
    pub fn bind(region: Region, identity: &Identity, name: Option<String>) -> Result<Self, Damage> {
        let header = format::parse_header(region.bytes())?;
        let found = &header.identity;
        if found.store_uuid != identity.store_uuid {
            return damaged("segment belongs to another store");
        }
        if found.dimensions != identity.dimensions || found.model != identity.model {
            return damaged("segment has vectors of another model");
        }
        if found.analyser != identity.analyser {
            return damaged("segment was made by another analyser version");
        }
        let ranges = std::array::from_fn(|i| {
            let extent = header.extents[i];
            extent.offset as usize..(extent.offset + extent.length) as usize
        });
        let lanes = identity.lanes();
        let mut segment = Self {
            region,
            lanes,
            header,
            ranges,
            name,
            embedded: Vec::new(),
            memory_rows: 0,
            starts: OnceLock::new(),
            counts: mention_counts::MentionCache::default(),
            ascend: OnceLock::new(),
            sessions: session_rows::SessionCache::new(),
            row_sets: row_set_cache::RowSetCache::default(),
            piece_counts: text_columns::PieceCounts::default(),
            spellings: spellings::SpellingCache::new(),
        };
        segment.check_lengths()?;
        segment.check_strings()?;
        segment.memory_rows = segment.check_rows()?;
        segment.check_lists()?;
        segment.check_postings()?;
        segment.check_edges()?;
        segment.check_ends()?;
        segment.check_names()?;
        segment.check_pieces()?;
        let mut embedded = vec![0; segment.rows().div_ceil(64)];
        for (row, b) in segment
            .column::<[u8; 8]>(Section::Attributes)
            .iter()
            .enumerate()
        {
            embedded[row / 64] |= u64::from(b[5]) << (row % 64);
        }
        segment.embedded = embedded;
        Ok(segment)
    }

    /// Binds an image that comes from a file: its checksums are compared as well.
    pub fn open(region: Region, identity: &Identity, name: Option<String>) -> Result<Self, Damage> {
        let segment = Self::bind(region, identity, name)?;
        match segment.wrong_sections().first() {
            Some(section) => damaged(format!("checksum of section {section} differs")),
            None => Ok(segment),
        }
    }

    /// Compares the checksum of every section; the names of those that differ.
    #[must_use]
    pub fn wrong_sections(&self) -> Vec<&'static str> {
        let wrong = |i: &usize| {
            format::checksum(&self.region.bytes()[self.ranges[*i].clone()])
                != self.header.extents[*i].crc
        };
        (0..SECTIONS)
            .filter(wrong)
            .map(|i| SECTION_TABLE[i].0)
            .collect()
    }

    /// Number of row versions, masked ones included.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.header.rows as usize
    }

    /// Stored length of a vector.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Rows that have a vector, as bits.
    #[must_use]
    pub fn embedded(&self) -> &[u64] {
        &self.embedded
    }

    /// File name; None = memory only.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The whole image.
    #[must_use]
    pub fn image(&self) -> &[u8] {
        self.region.bytes()
    }

    /// (section, bytes).
    pub fn section_sizes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        SECTION_TABLE
            .iter()
            .zip(&self.header.extents)
            .map(|((name, _), e)| (*name, e.length))
    }

    /// A column. Width and alignment were checked by `bind`.
    #[must_use]
    pub fn column<T: Plain>(&self, section: Section) -> &[T] {
        let range = self.ranges[section as usize].clone();
        cast(&self.region.bytes()[range]).unwrap_or_default()
    }

    /// Ids by row.
    #[must_use]
    pub fn ids(&self) -> &[Id] {
        self.column(Section::Ids)
    }

    /// Returns whether a row was created at a time (µs) or before, and not expired by then.
    #[must_use]
    #[inline]
    pub fn known(&self, row: usize, at: i64) -> bool {
        self.column::<i64>(Section::Created)[row] <= at
            && at < self.column::<i64>(Section::Expired)[row]
    }

    /// Small codes of a row.
    #[must_use]
    pub fn attributes(&self, row: usize) -> Attributes {
        Attributes::from_bytes(self.column::<[u8; 8]>(Section::Attributes)[row])
    }

    /// Unit vector of a row, zero-padded to whole lanes.
    #[must_use]
    pub fn vector(&self, row: usize) -> &[f32] {
        &self.column::<f32>(Section::Vectors)[row * self.lanes..(row + 1) * self.lanes]
    }

    /// Vector and codes of a row as they are stored.
    #[must_use]
    pub fn coded(&self, row: usize) -> Vector<'_> {
        let codes = &self.column::<i8>(Section::Codes)[row * self.lanes..(row + 1) * self.lanes];
        let scale = self.column::<f32>(Section::Scales)[row];
        Vector::Coded(
            self.vector(row),
            codes,
            scale,
            self.column::<f32>(Section::Bounds)[row],
        )
    }

    /// Row of an id.
    #[must_use]
    pub fn find(&self, id: &Id) -> Option<usize> {
        let ids = self.ids();
        let order = self.column::<u32>(Section::IdOrder);
        let at = order
            .binary_search_by(|row| ids[*row as usize].cmp(id))
            .ok()?;
        Some(order[at] as usize)
    }

    /// The row of a memory if it was written by this transaction or an earlier one.
    #[must_use]
    pub fn version_upto(&self, (id, seq): &(Id, u64)) -> Option<usize> {
        let written = self.column::<i64>(Section::Wseq);
        let row = self.find(id)?;
        u64::try_from(written[row])
            .is_ok_and(|w| w <= *seq)
            .then_some(row)
    }

    fn text(&self, offsets: Section, bytes: Section, number: usize) -> &str {
        let offsets = self.column::<u64>(offsets);
        let range = offsets[number] as usize..offsets[number + 1] as usize;
        std::str::from_utf8(&self.column::<u8>(bytes)[range]).unwrap_or_default()
    }

    /// Number of the first text that is not below this one, and whether it is this one. Texts are
    /// compared as bytes, in which UTF-8 has the same order.
    fn text_place(&self, offsets: Section, bytes: Section, wanted: &str) -> (usize, bool) {
        let (offsets, bytes) = (self.column::<u64>(offsets), self.column::<u8>(bytes));
        let (mut low, mut high) = (0, offsets.len() - 1);
        while low < high {
            let middle = low.midpoint(high);
            let text = &bytes[offsets[middle] as usize..offsets[middle + 1] as usize];
            match text.cmp(wanted.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return (middle, true),
            }
        }
        (low, false)
    }

    fn find_text(&self, offsets: Section, bytes: Section, wanted: &str) -> Option<u32> {
        let (place, same) = self.text_place(offsets, bytes, wanted);
        same.then_some(place as u32)
    }

    /// Interned text of a number; None for null.
    #[must_use]
    pub fn string(&self, number: u32) -> Option<&str> {
        let texts = self.column::<u64>(Section::StringOffsets).len() - 1;
        ((number as usize) < texts).then(|| {
            self.text(
                Section::StringOffsets,
                Section::StringBytes,
                number as usize,
            )
        })
    }

    /// Number of an interned text.
    #[must_use]
    pub fn string_number(&self, wanted: &str) -> Option<u32> {
        self.find_text(Section::StringOffsets, Section::StringBytes, wanted)
    }

    /// Number of the first interned text that is not below this one; their count when all are.
    #[must_use]
    pub fn string_lower_bound(&self, wanted: &str) -> u32 {
        self.text_place(Section::StringOffsets, Section::StringBytes, wanted)
            .0 as u32
    }

    /// Number of terms.
    #[must_use]
    pub fn term_count(&self) -> usize {
        self.column::<u64>(Section::TermOffsets).len() - 1
    }

    /// A term.
    #[must_use]
    pub fn term(&self, number: usize) -> &str {
        self.text(Section::TermOffsets, Section::TermBytes, number)
    }

    /// Number of a term.
    #[must_use]
    pub fn term_number(&self, wanted: &str) -> Option<u32> {
        self.find_text(Section::TermOffsets, Section::TermBytes, wanted)
    }

    /// Rows with a term, ascending, and how often each has it, with the case bit of
    /// [`crate::segment::row::LOWER_CASE`].
    #[must_use]
    pub fn postings(&self, term: usize) -> (&[u32], &[u8]) {
        let offsets = self.column::<u64>(Section::PostingOffsets);
        let range = offsets[term] as usize..offsets[term + 1] as usize;
        (
            &self.column::<u32>(Section::PostingRows)[range.clone()],
            &self.column::<u8>(Section::PostingCounts)[range],
        )
    }

    /// Term numbers of a row in the order of its text, those of function words left out.
    #[must_use]
    pub fn text_terms(&self, row: usize) -> packed_number::Numbers<'_> {
        let offsets = self.column::<u64>(Section::TextTermOffsets);
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        packed_number::numbers(&self.column::<u8>(Section::TextTerms)[range])
    }

    /// String numbers of a list column of a row.
    #[must_use]
    pub fn list(&self, offsets: Section, values: Section, row: usize) -> &[u32] {
        let offsets = self.column::<u32>(offsets);
        &self.column::<u32>(values)[offsets[row] as usize..offsets[row + 1] as usize]
    }
}
