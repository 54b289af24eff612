//! Eligible rows in groups, each scored with statistics of its own.
//!
//! All are one group. Only where origin evidence puts the levels of several origins on one scale,
//! every origin is a group: its memories get the levels that they have where they alone are
//! eligible. A word, a largest value or a neighbour of another origin changes none of them.

use super::evidence;
use super::result::Scoring;
use super::score_table::ScoreTable;
use super::scorer::{Scorer, origin};
use super::segment_columns::SegmentColumns;
use super::turn_signals::TurnSignals;
use crate::kernels::bits::{Bits, set_bits};
use crate::segment::Segment;

/// Rows that are scored with the same statistics.
pub(super) struct RowGroup<'a> {
    pub(super) table: ScoreTable<'a>,
    pub(super) scorer: Scorer<'a>,
    /// idf of each term of the query over the rows.
    pub(super) idfs: Vec<f64>,
    /// By term of the query, how many of the rows hold it.
    pub(super) document_frequencies: Vec<u64>,
}

impl<'a> RowGroup<'a> {
    fn new(parts: Vec<SegmentColumns<'a>>, scorer: Scorer<'a>) -> Self {
        Self {
            table: ScoreTable {
                parts,
                signals: None,
            },
            scorer,
            idfs: Vec::new(),
            document_frequencies: Vec::new(),
        }
    }

    /// What is found where S is L, whether the ranking orders candidates by it or not.
    pub(super) fn by_level<T>(&mut self, find: impl FnOnce(&Self) -> T) -> T {
        let enabled = std::mem::replace(&mut self.scorer.start_enabled, true);
        let found = find(self);
        self.scorer.start_enabled = enabled;
        found
    }

    /// By part, the rows.
    pub(super) fn eligible(&self) -> Vec<Bits> {
        let parts = self.table.parts.iter();
        parts.map(|columns| columns.eligible.clone()).collect()
    }

    /// What the rows are scored with.
    pub(super) fn scoring(&self) -> Scoring {
        let signals = self.table.signals.as_ref();
        Scoring {
            maxima: self.scorer.maxima,
            idfs: self.idfs.clone(),
            document_frequencies: self.document_frequencies.clone(),
            evidence: self.scorer.evidence,
            topic_of_query: signals.and_then(TurnSignals::topic_of_query),
        }
    }
}

/// All eligible rows; at least one group.
pub(super) struct RowGroups<'a> {
    groups: Vec<RowGroup<'a>>,
    /// By code of OriginType, the place of its group.
    pub(super) of_origin: [usize; 4],
}

impl<'a> RowGroups<'a> {
    /// `parts`: with the cosines of all eligible rows.
    pub(super) fn new(parts: Vec<SegmentColumns<'a>>, scorer: Scorer<'a>) -> Self {
        if !evidence::counts(&scorer) {
            return Self {
                groups: vec![RowGroup::new(parts, scorer)],
                of_origin: [0; 4],
            };
        }
        let rows: Vec<[Bits; 4]> = parts.iter().map(rows_by_origin).collect();
        let (mut groups, mut of_origin) = (Vec::new(), [0; 4]);
        for own in 0..of_origin.len() {
            if !scorer.origins[own] {
                continue;
            }
            let of_part = parts.iter().zip(&rows);
            let parts = of_part.map(|(columns, rows)| columns.restricted(rows[own].clone()));
            let only = std::array::from_fn(|origin| origin == own);
            of_origin[own] = groups.len();
            groups.push(RowGroup::new(parts.collect(), scorer.of_origins(only)));
        }
        Self { groups, of_origin }
    }

    pub(super) fn all(&self) -> &[RowGroup<'a>] {
        &self.groups
    }

    pub(super) fn all_mut(&mut self) -> &mut [RowGroup<'a>] {
        &mut self.groups
    }

    /// Where every origin is a group: each with its code.
    pub(super) fn by_origin_mut(&mut self) -> impl Iterator<Item = (usize, &mut RowGroup<'a>)> {
        let own = |group: &RowGroup<'a>| group.scorer.origins.iter().position(|occurs| *occurs);
        let groups = self.groups.iter_mut();
        groups.filter_map(move |group| Some((own(group)?, group)))
    }

    /// The group of an eligible row.
    #[inline]
    pub(super) fn of(&self, part: usize, row: usize) -> &RowGroup<'a> {
        match self.groups.as_slice() {
            [only] => only,
            groups => &groups[self.of_origin[origin(self.segment(part), row)]],
        }
    }

    /// Columns of the group of an eligible row.
    pub(super) fn columns(&self, part: usize, row: usize) -> &SegmentColumns<'a> {
        &self.of(part, row).table.parts[part]
    }

    /// Number of parts.
    pub(super) fn parts(&self) -> usize {
        self.groups[0].table.parts.len()
    }

    pub(super) fn segment(&self, part: usize) -> &'a Segment {
        self.groups[0].table.parts[part].segment
    }
}

/// Eligible rows of a part by code of OriginType.
fn rows_by_origin(columns: &SegmentColumns<'_>) -> [Bits; 4] {
    let mut found = std::array::from_fn(|_| vec![0; columns.eligible.len()]);
    for row in set_bits(&columns.eligible) {
        let own: &mut Bits = &mut found[origin(columns.segment, row)];
        own[row / 64] |= 1 << (row % 64);
    }
    found
}
