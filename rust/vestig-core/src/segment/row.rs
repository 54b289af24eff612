//! One memory as of one transaction: what a segment is built from, and read back from it.

use crate::kernels::lexical::OCCURRENCES_MAX;
use crate::kernels::piece_codes::Pieces;
use crate::segment::format::Section;
use crate::segment::{Attributes, EdgeVersion, EventRow, Id, NO_SEQUENCE, NO_TIME, Segment};

/// Bit of a term's count: some occurrence was written in lower case.
pub const LOWER_CASE: u8 = OCCURRENCES_MAX + 1;
/// Words of a text that are counted, so that the length of a window fits 32 bits.
pub const WORDS_MAX: u32 = 1 << 24;

/// One memory or entity as of one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct RowVersion<'a> {
    /// Id of the memory or entity.
    pub id: Id,
    /// Inserting transaction.
    pub seq: i64,
    /// Transaction of this version.
    pub wseq: i64,
    /// Small codes.
    pub attributes: Attributes,
    /// Exactly one.
    pub namespace: &'a str,
    /// None = without scope.
    pub scope: Option<&'a str>,
    /// Who said it.
    pub author: Option<&'a str>,
    /// `user` or `assistant` of a chat; of an entity: its type.
    pub role: Option<&'a str>,
    /// Session id; unique within namespace and scope.
    pub session: Option<&'a str>,
    /// Position in the session; the parts of a long text share it.
    pub sequence: Option<i64>,
    /// Row number in the ledger of the source that produced it first.
    pub source_row: Option<i64>,
    /// t_valid, t_invalid, t_created, t_expired in µs; `NO_TIME` = null.
    pub times: [i64; 4],
    /// Unit vector, whole lanes; zeros when not embedded.
    pub vector: Vector<'a>,
    /// Tags, sources, actors, keywords.
    pub lists: [Vec<&'a str>; 4],
    /// Temporal windows: (start, end) in µs.
    pub windows: Vec<(i64, i64)>,
    /// Unit vectors of hypothetical questions, whole lanes.
    pub questions: Vec<&'a [f32]>,
    /// Edges that start here, any order.
    pub edges: Vec<EdgeVersion>,
    /// Of an entity: (normal form, stored name), canonical first.
    pub names: Vec<(&'a str, &'a str)>,
    /// By the ledger's order.
    pub events: Vec<EventRow>,
    /// Distinct index terms with their number and `LOWER_CASE`, any order.
    pub terms: Vec<(&'a str, u8)>,
    /// Number of indexed words.
    pub length: u32,
    /// The terms in the order of the text, those of function words left out: places in `terms`.
    pub text_terms: Vec<u32>,
    /// Features of the text, below 2^18 (`ports.ProjectionRow`).
    pub features: u32,
    /// The name that the title is.
    pub title: Option<&'a str>,
    /// Codes of word pieces.
    pub pieces: Pieces<'a>,
}

/// A vector, or the absence of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Vector<'a> {
    /// Not embedded.
    None,
    /// Whole lanes, not yet coded.
    Unit(&'a [f32]),
    /// Whole lanes, with the codes, scale and bound that coding them gives.
    Coded(&'a [f32], &'a [i8], f32, f32),
}

impl<'a> Vector<'a> {
    /// Whole lanes, or nothing.
    #[must_use]
    pub fn unit(&self) -> Option<&'a [f32]> {
        match *self {
            Self::None => None,
            Self::Unit(unit) | Self::Coded(unit, ..) => Some(unit),
        }
    }
}

/// Terms of every row of a segment, from its posting lists.
pub struct Forward {
    starts: Vec<u32>,
    entries: Vec<(u32, u8)>,
}

impl Forward {
    /// One pass over the posting lists.
    #[must_use]
    pub fn of(segment: &Segment) -> Self {
        let mut starts = vec![0_u32; segment.rows() + 1];
        for row in segment.column::<u32>(Section::PostingRows) {
            starts[*row as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut entries = vec![(0, 0); starts.last().map_or(0, |n| *n as usize)];
        for term in 0..segment.term_count() {
            let (rows, counts) = segment.postings(term);
            for (row, count) in rows.iter().zip(counts) {
                let at = &mut next[*row as usize];
                entries[*at as usize] = (term as u32, *count);
                *at += 1;
            }
        }
        Self { starts, entries }
    }

    /// Only one row: the terms of the others are left out.
    #[must_use]
    pub fn of_row(segment: &Segment, row: usize) -> Self {
        let entry = |term: usize| {
            let (rows, counts) = segment.postings(term);
            let at = rows.binary_search(&(row as u32)).ok()?;
            Some((term as u32, counts[at]))
        };
        let entries: Vec<_> = (0..segment.term_count()).filter_map(entry).collect();
        let mut starts = vec![0; segment.rows() + 1];
        starts[row + 1..].fill(entries.len() as u32);
        Self { starts, entries }
    }

    /// Number of terms of all rows.
    #[must_use]
    pub fn postings(&self) -> usize {
        self.entries.len()
    }

    /// (term number, count) by term.
    #[must_use]
    pub fn terms(&self, row: usize) -> &[(u32, u8)] {
        &self.entries[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

/// A row of a segment as it was given.
#[must_use]
pub fn row_version<'a>(segment: &'a Segment, forward: &Forward, row: usize) -> RowVersion<'a> {
    use Section as S;
    let text = |section| segment.string(segment.column::<u32>(section)[row]);
    let list = |offsets, values| {
        let numbers = segment.list(offsets, values, row).iter();
        numbers.filter_map(|n| segment.string(*n)).collect()
    };
    let time = |section| segment.column::<i64>(section)[row];
    let attributes = segment.attributes(row);
    let (sequence, source_row) = (time(S::Sequence), time(S::SourceRow));
    let terms = forward.terms(row);
    RowVersion {
        id: segment.ids()[row],
        seq: time(S::Seq),
        wseq: time(S::Wseq),
        attributes,
        namespace: text(S::Namespace).unwrap_or_default(),
        scope: text(S::Scope),
        author: text(S::Author),
        role: text(S::Role),
        session: text(S::Session),
        sequence: (sequence != NO_SEQUENCE).then_some(sequence),
        source_row: (source_row != NO_SEQUENCE).then_some(source_row),
        times: [
            time(S::Valid),
            time(S::Invalid),
            time(S::Created),
            time(S::Expired),
        ],
        vector: stored_vector(segment, row),
        lists: [
            list(S::TagOffsets, S::Tags),
            list(S::SourceOffsets, S::Sources),
            list(S::ActorOffsets, S::Actors),
            list(S::KeywordOffsets, S::Keywords),
        ],
        windows: segment.windows(row).collect(),
        questions: segment
            .questions(row)
            .map(|number| segment.question_vector(number))
            .collect(),
        edges: segment
            .edges(row)
            .map(|number| segment.edge_version(number))
            .collect(),
        names: names(segment, row),
        events: segment.events(row).collect(),
        terms: terms
            .iter()
            .map(|(t, n)| (segment.term(*t as usize), *n))
            .collect(),
        length: segment.column::<u32>(S::Lengths)[row],
        text_terms: segment
            .text_terms(row)
            .filter_map(|number| terms.binary_search_by_key(&number, |(term, _)| *term).ok())
            .map(|place| place as u32)
            .collect(),
        features: segment.features(row),
        title: text(S::Titles),
        pieces: segment.pieces(row),
    }
}

fn names(segment: &Segment, row: usize) -> Vec<(&str, &str)> {
    if row < segment.memory_rows() {
        return Vec::new();
    }
    let text = |number: u32| segment.string(number).unwrap_or_default();
    let pairs = segment.names(row).iter();
    pairs
        .map(|[norm, name]| (text(*norm), text(*name)))
        .collect()
}

/// A vector as it is stored, or the absence of one.
pub(crate) fn stored_vector(segment: &Segment, row: usize) -> Vector<'_> {
    if segment.attributes(row).embedded {
        segment.coded(row)
    } else {
        Vector::None
    }
}

/// Time or null.
#[must_use]
pub fn nullable(time: i64) -> Option<i64> {
    (time != NO_TIME).then_some(time)
}
