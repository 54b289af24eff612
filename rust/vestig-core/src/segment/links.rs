//! The links of a row to others: edges, names, questions, windows.

use std::cmp::Ordering;
use std::ops::Range;

use super::{Id, NO_TIME, Segment};
use crate::kernels::top_k::descending;
use crate::segment::format::Section;
use crate::segment::map::fetch;

/// Codes of the edge types that are walked, by their place in an edge record: MENTIONS, RELATED,
/// SUMMARIZES, RELATION.
pub const EDGE_KINDS: [u8; 4] = [0, 1, 2, 3];
/// Code of MENTIONS: its weight is 1 and its confidence counts.
pub const MENTIONS: u8 = EDGE_KINDS[0];
/// Code of RELATED.
pub const RELATED: u8 = EDGE_KINDS[1];
/// Code of SUMMARIZES.
pub(crate) const SUMMARIZES: u8 = EDGE_KINDS[2];
/// Open start of a window.
pub const OPEN_START: i64 = i64::MIN;
/// Bits of an edge record that hold the start row.
pub(crate) const SOURCE_MASK: u32 = (1 << 28) - 1;
/// First bit of the type's place.
pub(crate) const KIND_SHIFT: u32 = 28;
/// The edge stands in `ExtraEdges`.
pub(crate) const EXTRA: u32 = 1 << 30;

/// Where an edge ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A row of the same segment, which may be masked.
    Row(usize),
    /// A node that this segment does not hold.
    Other(Id),
}

/// An edge as it was given, without its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeVersion {
    /// Id of the edge.
    pub id: Id,
    /// Where it ends.
    pub end: Id,
    /// Code of EdgeType.
    pub kind: u8,
    /// Finite, at least 0.
    pub weight: f64,
    /// None = null.
    pub confidence: Option<f64>,
    /// Creation time, µs since the epoch.
    pub created: i64,
    /// Expiry time, µs; `NO_TIME` = unexpired.
    pub expired: i64,
}

/// An edge as a walk reads it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeRow {
    /// Id of the edge.
    pub id: Id,
    /// Row where it starts.
    pub source: usize,
    /// Where it ends.
    pub target: Target,
    /// Code of EdgeType.
    pub kind: u8,
    /// Finite, at least 0.
    pub weight: f64,
    /// None = null.
    pub confidence: Option<f64>,
    /// Creation time, µs since the epoch.
    pub created: i64,
    /// Expiry time, µs; `NO_TIME` = unexpired.
    pub expired: i64,
}

impl EdgeRow {
    /// Returns whether it was created at a time (µs) or before, and not expired by then.
    #[must_use]
    #[inline]
    pub fn known(&self, at: i64) -> bool {
        self.created <= at && at < self.expired
    }
}

/// Bytes of an edge record.
pub(crate) type Record = [u8; 32];

/// (id, value, end, start with type and flag).
#[inline]
pub(crate) fn unpack(record: &Record) -> (Id, f64, u32, u32) {
    let mut id = [0; 16];
    let (mut value, mut end, mut start) = ([0; 8], [0; 4], [0; 4]);
    id.copy_from_slice(&record[..16]);
    value.copy_from_slice(&record[16..24]);
    end.copy_from_slice(&record[24..28]);
    start.copy_from_slice(&record[28..]);
    let numbers = (u32::from_le_bytes(end), u32::from_le_bytes(start));
    (id, f64::from_le_bytes(value), numbers.0, numbers.1)
}

/// Code of the type that the last number of a record names.
#[inline]
pub(crate) fn kind_of(start: u32) -> u8 {
    EDGE_KINDS[(start >> KIND_SHIFT & 3) as usize]
}

/// Returns whether an edge stands in the RELATED lists of both its ends.
#[inline]
pub(crate) fn is_related(record: &Record) -> bool {
    kind_of(unpack(record).3) == RELATED
}

/// One end of a RELATED edge: where the other end is, and the number of the edge.
pub(crate) type RelatedEnd = [u32; 2];

/// Weight descending, id of the other end, id and number of the edge.
pub(crate) fn by_strength<'i>(
    records: &[Record],
    a: &RelatedEnd,
    b: &RelatedEnd,
    id_of: impl Fn(usize) -> &'i Id,
) -> Ordering {
    let [(a_id, a_weight, ..), (b_id, b_weight, ..)] =
        [a, b].map(|end| unpack(&records[end[1] as usize]));
    descending(a_weight, b_weight)
        .then_with(|| id_of(a[0] as usize).cmp(id_of(b[0] as usize)))
        .then_with(|| a_id.cmp(&b_id))
        .then_with(|| a[1].cmp(&b[1]))
}

/// (weight, confidence) of a record without an entry in `ExtraEdges`, from its value.
#[inline]
fn plain(kind: u8, value: f64) -> (f64, Option<f64>) {
    if kind == MENTIONS {
        (1.0, (!value.is_nan()).then_some(value))
    } else {
        (value, Some(value))
    }
}

/// The value of a record that gives these; None = the edge needs an entry in `ExtraEdges`.
pub(crate) fn plain_value(edge: &EdgeVersion, row_created: i64) -> Option<f64> {
    let value = if edge.kind == MENTIONS {
        edge.confidence.unwrap_or(f64::NAN)
    } else {
        edge.weight
    };
    let said = plain(edge.kind, value) == (edge.weight, edge.confidence);
    (said && edge.created == row_created && edge.expired == NO_TIME).then_some(value)
}

impl Segment {
    /// Memories are the rows before this one, entities the others.
    #[must_use]
    pub fn memory_rows(&self) -> usize {
        self.memory_rows
    }

    fn span(&self, offsets: Section, row: usize) -> Range<usize> {
        let offsets = self.column::<u32>(offsets);
        offsets[row] as usize..offsets[row + 1] as usize
    }

    /// String numbers of a row's keywords.
    #[must_use]
    pub fn keywords(&self, row: usize) -> &[u32] {
        self.list(Section::KeywordOffsets, Section::Keywords, row)
    }

    /// Temporal windows of a row: (start, end) in µs, `OPEN_START` and `NO_TIME` = open.
    pub fn windows(&self, row: usize) -> impl Iterator<Item = (i64, i64)> + '_ {
        let starts = self.column::<i64>(Section::WindowStarts);
        let ends = self.column::<i64>(Section::WindowEnds);
        self.span(Section::WindowOffsets, row)
            .map(|i| (starts[i], ends[i]))
    }

    /// Numbers of a row's hypothetical questions.
    #[must_use]
    pub fn questions(&self, row: usize) -> Range<usize> {
        self.span(Section::QuestionOffsets, row)
    }

    /// Unit vector of a question, whole lanes.
    #[must_use]
    pub fn question_vector(&self, number: usize) -> &[f32] {
        let vectors = self.column::<f32>(Section::QuestionVectors);
        &vectors[number * self.lanes..(number + 1) * self.lanes]
    }

    /// Number of hypothetical questions of all rows.
    #[must_use]
    pub fn question_count(&self) -> usize {
        self.column::<u32>(Section::QuestionOffsets)
            .last()
            .map_or(0, |count| *count as usize)
    }

    /// Numbers of the edges that start at a row, by the place of their type, then id.
    #[must_use]
    pub fn edges(&self, row: usize) -> Range<usize> {
        self.span(Section::EdgeOffsets, row)
    }

    /// An edge.
    #[must_use]
    #[inline]
    pub fn edge(&self, number: usize) -> EdgeRow {
        let edge = self.plain_edge(number);
        let start = unpack(&self.column::<Record>(Section::Edges)[number]).3;
        if start & EXTRA == 0 {
            EdgeRow {
                created: self.column::<i64>(Section::Created)[edge.source],
                ..edge
            }
        } else {
            self.with_extra(edge, number)
        }
    }

    /// An edge that does not stand in `ExtraEdges`, without the time of its start row.
    #[inline]
    pub(crate) fn plain_edge(&self, number: usize) -> EdgeRow {
        let (id, value, end, start) = unpack(&self.column::<Record>(Section::Edges)[number]);
        let kind = kind_of(start);
        let target = if (end as usize) < self.rows() {
            Target::Row(end as usize)
        } else {
            Target::Other(self.column::<Id>(Section::OtherIds)[end as usize - self.rows()])
        };
        let (weight, confidence) = if start & EXTRA == 0 {
            plain(kind, value)
        } else {
            (value, None)
        };
        EdgeRow {
            id,
            source: (start & SOURCE_MASK) as usize,
            target,
            kind,
            weight,
            confidence,
            created: i64::MIN,
            expired: NO_TIME,
        }
    }

    fn with_extra(&self, edge: EdgeRow, number: usize) -> EdgeRow {
        let extras = self.column::<u32>(Section::ExtraEdges);
        // `bind` checked that every flagged edge stands there.
        let Ok(at) = extras.binary_search(&(number as u32)) else {
            return edge;
        };
        let confidence = self.column::<f64>(Section::ExtraConfidence)[at];
        EdgeRow {
            confidence: (!confidence.is_nan()).then_some(confidence),
            created: self.column::<i64>(Section::ExtraCreated)[at],
            expired: self.column::<i64>(Section::ExtraExpired)[at],
            ..edge
        }
    }

    /// An edge with the id of its end.
    #[must_use]
    pub fn edge_version(&self, number: usize) -> EdgeVersion {
        let edge = self.edge(number);
        EdgeVersion {
            id: edge.id,
            end: match edge.target {
                Target::Row(row) => self.ids()[row],
                Target::Other(id) => id,
            },
            kind: edge.kind,
            weight: edge.weight,
            confidence: edge.confidence,
            created: edge.created,
            expired: edge.expired,
        }
    }

    /// Numbers of the edges but RELATED that end at a row, masked starts included.
    #[must_use]
    pub fn incoming(&self, row: usize) -> &[u32] {
        self.list(Section::IncomingOffsets, Section::Incoming, row)
    }

    /// Of the edges that end at an entity row, in the order of `incoming`: the start row with the
    /// type's place and the flag, as in a record. Gathered once, for counting mentions would read
    /// a record each.
    #[must_use]
    pub(crate) fn incoming_starts(&self, row: usize) -> &[u32] {
        let offsets = self.column::<u32>(Section::IncomingOffsets);
        let (first, rows) = (self.memory_rows, self.rows());
        let before = offsets[first];
        let starts = self.starts.get_or_init(|| {
            let mut next = offsets[first..rows].to_vec();
            let mut starts = vec![0; (offsets[rows] - before) as usize];
            for record in self.column::<Record>(Section::Edges) {
                let (_, _, end, start) = unpack(record);
                if (first..rows).contains(&(end as usize)) && !is_related(record) {
                    let at = &mut next[end as usize - first];
                    starts[(*at - before) as usize] = start;
                    *at += 1;
                }
            }
            starts
        });
        &starts[(offsets[row] - before) as usize..(offsets[row + 1] - before) as usize]
    }

    /// Asks memory for the first of `incoming_starts`, if they were gathered.
    #[inline]
    pub(crate) fn fetch_starts(&self, row: usize) {
        let offsets = self.column::<u32>(Section::IncomingOffsets);
        if let Some(starts) = self.starts.get() {
            fetch(starts, (offsets[row] - offsets[self.memory_rows]) as usize);
        }
    }

    /// The place of a node in the lists by node: its row, or rows + its place among other ids.
    #[must_use]
    pub(crate) fn place(&self, row: Option<usize>, id: &Id) -> Option<usize> {
        let others = || self.column::<Id>(Section::OtherIds).binary_search(id).ok();
        row.or_else(|| Some(self.rows() + others()?))
    }

    /// Numbers of the edges but RELATED that end at a node; `row`: where this segment holds it, if
    /// it does.
    #[must_use]
    pub fn incoming_at(&self, row: Option<usize>, id: &Id) -> &[u32] {
        self.place(row, id)
            .map_or(&[], |place| self.incoming(place))
    }

    /// RELATED edges with an end at the node of a place, by either end, masked starts included: see
    /// `Section::Related`.
    #[must_use]
    pub(crate) fn related_of(&self, place: usize) -> &[RelatedEnd] {
        &self.column::<RelatedEnd>(Section::Related)[self.span(Section::RelatedOffsets, place)]
    }

    /// Names of an entity row, canonical first: string numbers of normal form and stored name.
    #[must_use]
    pub fn names(&self, row: usize) -> &[[u32; 2]] {
        let span = self.span(Section::NameOffsets, row - self.memory_rows);
        &self.column::<[u32; 2]>(Section::Names)[span]
    }

    /// Entity rows that have this normal form, each with the string number of the stored name.
    pub fn named(&self, norm: u32) -> impl Iterator<Item = (usize, u32)> + '_ {
        let names = self.column::<[u32; 2]>(Section::Names);
        let order = self.column::<u32>(Section::NameOrder);
        let offsets = self.column::<u32>(Section::NameOffsets);
        let first = order.partition_point(|at| names[*at as usize][0] < norm);
        order[first..]
            .iter()
            .take_while(move |at| names[**at as usize][0] == norm)
            .map(move |at| {
                let entity = offsets.partition_point(|offset| offset <= at) - 1;
                (self.memory_rows + entity, names[*at as usize][1])
            })
    }
}
