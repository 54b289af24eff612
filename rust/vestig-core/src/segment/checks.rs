//! Everything that accessors and kernels rely on, checked once per image.

use super::{CODE_LIMITS, FEATURES_END, Id, KIND_ENTITY, NO_STRING, Segment};
use crate::kernels::piece_codes::{PIECES_MAX, is_scale};
use crate::segment::format::{Damage, SECTION_TABLE, Section, damaged};
use crate::segment::row::{LOWER_CASE, WORDS_MAX};

impl Segment {
    fn count(&self, section: Section) -> Result<usize, Damage> {
        let (name, width) = SECTION_TABLE[section as usize];
        let length = self.header.extents[section as usize].length;
        if !length.is_multiple_of(width) {
            return damaged(format!("section {name} has a part of a value"));
        }
        Ok((length / width) as usize)
    }

    pub(super) fn expect(&self, section: Section, expected: usize) -> Result<(), Damage> {
        let found = self.count(section)?;
        if found != expected {
            let name = SECTION_TABLE[section as usize].0;
            return damaged(format!(
                "section {name}: expected {expected} values, found {found}"
            ));
        }
        Ok(())
    }

    pub(super) fn check_lengths(&self) -> Result<(), Damage> {
        use Section as S;
        let rows = self.rows();
        let per_row = [
            S::Ids,
            S::IdOrder,
            S::Seq,
            S::Wseq,
            S::Scales,
            S::Bounds,
            S::Attributes,
            S::Valid,
            S::Invalid,
            S::Created,
            S::Expired,
            S::Sequence,
            S::SourceRow,
            S::Namespace,
            S::Scope,
            S::Author,
            S::Role,
            S::Session,
            S::Lengths,
            S::Features,
            S::Titles,
        ];
        for section in per_row {
            self.expect(section, rows)?;
        }
        let Some(numbers) = rows.checked_mul(self.lanes) else {
            return damaged("vectors do not fit the address space");
        };
        self.expect(S::Vectors, numbers)?;
        self.expect(S::Codes, numbers)?;
        for section in [
            S::TagOffsets,
            S::SourceOffsets,
            S::ActorOffsets,
            S::EventOffsets,
            S::KeywordOffsets,
            S::WindowOffsets,
            S::QuestionOffsets,
            S::EdgeOffsets,
            S::PieceOffsets,
            S::TextTermOffsets,
        ] {
            self.expect(section, rows + 1)?;
        }
        let events = self.count(S::EventTypes)?;
        for section in [S::EventOccurred, S::EventRecorded, S::EventSeq, S::EventRow] {
            self.expect(section, events)?;
        }
        self.expect(S::PostingCounts, self.count(S::PostingRows)?)?;
        self.expect(S::WindowEnds, self.count(S::WindowStarts)?)?;
        let extras = self.count(S::ExtraEdges)?;
        for section in [S::ExtraConfidence, S::ExtraCreated, S::ExtraExpired] {
            self.expect(section, extras)?;
        }
        let pieces = self.count(S::PieceIds)?;
        self.expect(S::PieceScales, pieces)?;
        self.expect(S::PieceSigns, pieces)?;
        let nodes = rows + self.count(S::OtherIds)?;
        self.expect(S::IncomingOffsets, nodes + 1)?;
        self.expect(S::RelatedOffsets, nodes + 1)?;
        self.expect(S::NameOrder, self.count(S::Names)?)?;
        if !self.count(S::QuestionVectors)?.is_multiple_of(self.lanes) {
            return damaged("section question_vectors has a part of a vector");
        }
        for section in [
            S::Tags,
            S::Sources,
            S::Actors,
            S::Keywords,
            S::TextTerms,
            S::NameOffsets,
            S::StringOffsets,
            S::TermOffsets,
            S::Edges,
            S::Incoming,
            S::Related,
        ] {
            self.count(section)?;
        }
        self.expect(S::PostingOffsets, self.count(S::TermOffsets)?)
    }

    pub(super) fn check_strings(&self) -> Result<(), Damage> {
        let tables = [
            (Section::StringOffsets, Section::StringBytes),
            (Section::TermOffsets, Section::TermBytes),
        ];
        for (offsets, bytes) in tables {
            let name = SECTION_TABLE[bytes as usize].0;
            let bytes = self.column::<u8>(bytes);
            let offsets = self.column::<u64>(offsets);
            check_offsets(offsets.iter().copied(), bytes.len(), name)?;
            let mut previous: Option<&[u8]> = None;
            for pair in offsets.windows(2) {
                let text = &bytes[pair[0] as usize..pair[1] as usize];
                if std::str::from_utf8(text).is_err() || previous.is_some_and(|p| p >= text) {
                    return damaged(format!("section {name} is not sorted text"));
                }
                previous = Some(text);
            }
        }
        Ok(())
    }

    fn strings(&self) -> u32 {
        (self.column::<u64>(Section::StringOffsets).len() - 1) as u32
    }

    /// Number of memory rows.
    pub(super) fn check_rows(&self) -> Result<usize, Damage> {
        let ids = self.ids();
        let mut previous: Option<&Id> = None;
        for row in self.column::<u32>(Section::IdOrder) {
            let id = ids.get(*row as usize);
            if id.is_none() || previous >= id {
                return damaged("id_order does not sort the ids");
            }
            previous = id;
        }
        for b in self.column::<[u8; 8]>(Section::Attributes) {
            let codes = b[..4]
                .iter()
                .zip(CODE_LIMITS)
                .all(|(code, limit)| *code < limit);
            if !codes || b[4] > 1 || b[5] > 1 {
                return damaged("attributes hold an unknown code");
            }
        }
        let kinds = self.column::<[u8; 8]>(Section::Attributes);
        let memories = kinds.partition_point(|b| b[0] != KIND_ENTITY);
        if kinds[memories..].iter().any(|b| b[0] != KIND_ENTITY) {
            return damaged("an entity stands before a memory");
        }
        let strings = self.strings();
        for section in [
            Section::Namespace,
            Section::Scope,
            Section::Author,
            Section::Role,
            Section::Session,
            Section::Titles,
        ] {
            let nullable = section != Section::Namespace;
            let known = |n: &u32| *n < strings || (nullable && *n == NO_STRING);
            if !self.column::<u32>(section).iter().all(known) {
                return damaged("a text column names an unknown string");
            }
        }
        if self
            .column::<u32>(Section::Features)
            .iter()
            .any(|f| *f >= FEATURES_END)
        {
            return damaged("features hold an unknown bit");
        }
        Ok(memories)
    }

    pub(super) fn check_lists(&self) -> Result<(), Damage> {
        let strings = self.strings();
        let lists = [
            (Section::TagOffsets, Section::Tags),
            (Section::SourceOffsets, Section::Sources),
            (Section::ActorOffsets, Section::Actors),
            (Section::KeywordOffsets, Section::Keywords),
        ];
        for (offsets, values) in lists {
            let name = SECTION_TABLE[values as usize].0;
            let values = self.column::<u32>(values);
            let offsets = self.column::<u32>(offsets).iter().map(|o| u64::from(*o));
            check_offsets(offsets, values.len(), name)?;
            if values.iter().any(|n| *n >= strings) {
                return damaged(format!("section {name} names an unknown string"));
            }
        }
        let questions = self.column::<f32>(Section::QuestionVectors).len() / self.lanes;
        let counted = [
            (
                Section::EventOffsets,
                self.column::<u8>(Section::EventTypes).len(),
                "events",
            ),
            (
                Section::WindowOffsets,
                self.column::<i64>(Section::WindowStarts).len(),
                "windows",
            ),
            (Section::QuestionOffsets, questions, "questions"),
        ];
        for (offsets, values, name) in counted {
            let offsets = self.column::<u32>(offsets).iter().map(|o| u64::from(*o));
            check_offsets(offsets, values, name)?;
        }
        Ok(())
    }

    pub(super) fn check_postings(&self) -> Result<(), Damage> {
        let rows = self.column::<u32>(Section::PostingRows);
        let offsets = self.column::<u64>(Section::PostingOffsets);
        check_offsets(offsets.iter().copied(), rows.len(), "postings")?;
        for pair in offsets.windows(2) {
            let list = &rows[pair[0] as usize..pair[1] as usize];
            let ascending = list.windows(2).all(|w| w[0] < w[1]);
            if !ascending || list.last().is_some_and(|row| *row as usize >= self.rows()) {
                return damaged("a posting list is not ascending rows");
            }
        }
        let counts = self.column::<u8>(Section::PostingCounts);
        if counts.iter().any(|count| count & !LOWER_CASE == 0) {
            return damaged("section posting_counts has an impossible count");
        }
        let lengths = self.column::<u32>(Section::Lengths);
        if lengths.iter().any(|length| *length > WORDS_MAX) {
            return damaged("section lengths has an impossible length");
        }
        let text_terms = self.column::<u8>(Section::TextTerms);
        let offsets = self.column::<u64>(Section::TextTermOffsets);
        check_offsets(offsets.iter().copied(), text_terms.len(), "text_terms")?;
        let terms = self.term_count();
        for row in 0..self.rows() {
            let mut numbers = self.text_terms(row);
            if numbers.any(|number| number as usize >= terms) {
                return damaged("section text_terms names an unknown term");
            }
            if numbers.is_cut() {
                return damaged("section text_terms ends within a number");
            }
        }
        Ok(())
    }
}

impl Segment {
    pub(super) fn check_pieces(&self) -> Result<(), Damage> {
        use Section as S;
        let offsets = self.column::<u32>(S::PieceOffsets);
        let pieces = self.column::<u16>(S::PieceIds).len();
        check_offsets(offsets.iter().map(|o| u64::from(*o)), pieces, "pieces")?;
        if offsets
            .windows(2)
            .any(|pair| (pair[1] - pair[0]) as usize > PIECES_MAX)
        {
            return damaged(format!("a row has more than {PIECES_MAX} pieces"));
        }
        if !self.column::<u16>(S::PieceScales).iter().all(is_scale) {
            return damaged("a scale of a piece is no scale");
        }
        Ok(())
    }

    pub(super) fn check_names(&self) -> Result<(), Damage> {
        use Section as S;
        self.expect(S::NameOffsets, self.rows() - self.memory_rows + 1)?;
        let names = self.column::<[u32; 2]>(S::Names);
        let offsets = self.column::<u32>(S::NameOffsets);
        check_offsets(offsets.iter().map(|o| u64::from(*o)), names.len(), "names")?;
        let strings = self.strings();
        if names.as_flattened().iter().any(|n| *n >= strings) {
            return damaged("section names names an unknown string");
        }
        let key = |at: &u32| names.get(*at as usize).map(|name| (name[0], *at));
        let mut previous = None;
        for at in self.column::<u32>(S::NameOrder) {
            let this = key(at);
            if this.is_none() || previous >= this {
                return damaged("name_order does not sort the names");
            }
            previous = this;
        }
        Ok(())
    }
}

/// Offsets begin at 0, never fall and end at the number of values.
pub(super) fn check_offsets(
    offsets: impl Iterator<Item = u64>,
    values: usize,
    name: &str,
) -> Result<(), Damage> {
    let mut last = None;
    for offset in offsets {
        if last.map_or(offset != 0, |l| offset < l) {
            return damaged(format!("offsets of {name} are not ascending from 0"));
        }
        last = Some(offset);
    }
    if last != Some(values as u64) {
        return damaged(format!("offsets of {name} do not end at {values}"));
    }
    Ok(())
}
