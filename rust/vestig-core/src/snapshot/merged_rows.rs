//! The rows that count of several parts, in the order of one segment.

use std::borrow::Cow;

use super::Part;
use crate::kernels::bits::set_bits;
use crate::kernels::piece_codes::Pieces;
use crate::segment::Segment;
use crate::segment::columns::{Columns, Versions};
use crate::segment::format::Section;
use crate::segment::image::Rows;
use crate::segment::row::{Forward, RowVersion, Vector, row_version, stored_vector};

/// Rows and postings of rows up to which all are kept: a few MiB.
const CACHED_ROWS_MAX: usize = 4096;
const CACHED_POSTINGS_MAX: usize = 1 << 18;

/// Rows of several parts that count, made from them one after the other.
pub struct MergedRows<'a> {
    parts: Vec<(&'a Segment, Forward)>,
    /// (part, row): memories, then entities, by (seq, id).
    order: Vec<(u32, u32)>,
    /// All rows in that order, where they are few; empty = each pass makes them again.
    cached: Vec<RowVersion<'a>>,
}

impl<'a> MergedRows<'a> {
    /// Holds eight bytes a row and a posting, and few rows; the rest stays where it is.
    #[must_use]
    pub fn of(parts: &'a [Part]) -> Self {
        let mut order = Vec::with_capacity(parts.iter().map(|part| part.live_rows).sum());
        for (number, part) in parts.iter().enumerate() {
            order.extend(set_bits(&part.live).map(|row| (number as u32, row as u32)));
        }
        order.sort_unstable_by_key(|(part, row)| {
            let segment = &parts[*part as usize].segment;
            let row = *row as usize;
            let entity = row >= segment.memory_rows();
            (
                entity,
                segment.column::<i64>(Section::Seq)[row],
                segment.ids()[row],
            )
        });
        let parts = parts.iter().map(|part| part.segment.as_ref());
        let mut merged = Self {
            parts: parts.map(|s| (s, Forward::of(s))).collect(),
            order,
            cached: Vec::new(),
        };
        let postings: usize = merged.parts.iter().map(|(_, f)| f.postings()).sum();
        if merged.order.len() <= CACHED_ROWS_MAX && postings <= CACHED_POSTINGS_MAX {
            merged.cached = (0..merged.order.len()).map(|at| merged.row(at)).collect();
        }
        merged
    }

    fn row(&self, at: usize) -> RowVersion<'a> {
        let (part, row) = self.order[at];
        let (segment, forward) = &self.parts[part as usize];
        row_version(segment, forward, row as usize)
    }
}

impl<'a> Versions<'a> for MergedRows<'a> {
    fn iter<'s>(&'s self) -> impl Iterator<Item = Cow<'s, RowVersion<'a>>>
    where
        'a: 's,
    {
        (0..self.order.len()).map(|at| match self.cached.get(at) {
            Some(row) => Cow::Borrowed(row),
            None => Cow::Owned(self.row(at)),
        })
    }
}

impl<'a> Rows<'a> for MergedRows<'a> {
    fn count(&self) -> usize {
        self.order.len()
    }

    fn columns(&self) -> Columns {
        Columns::of(self)
    }

    fn vector(&self, at: usize) -> Vector<'a> {
        let (part, row) = self.order[at];
        stored_vector(self.parts[part as usize].0, row as usize)
    }

    fn pieces(&self, at: usize) -> Pieces<'a> {
        let (part, row) = self.order[at];
        self.parts[part as usize].0.pieces(row as usize)
    }
}
