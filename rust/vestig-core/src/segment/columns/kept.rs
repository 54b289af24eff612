//! The columns of some rows of one segment, copied from it. Strings, terms and edges stay in their
//! order, so nothing is looked up, and next to nothing sorted again; numbers of rows, strings and
//! terms follow.

use std::ops::Range;

use super::Columns;
use super::edges::{Edges, Extras};
use crate::kernels::piece_codes::Pieces;
use crate::segment::format::{SECTION_TABLE, Section};
use crate::segment::image::Rows;
use crate::segment::map::Plain;
use crate::segment::row::{Vector, stored_vector};
use crate::segment::{EXTRA, Id, NO_STRING, Record, SOURCE_MASK, Segment, packed_number, unpack};

/// The number of what is left out.
const GONE: u32 = u32::MAX;

/// Some rows of one segment, in its order.
pub struct KeptRows<'a> {
    segment: &'a Segment,
    rows: Vec<usize>,
}

impl<'a> KeptRows<'a> {
    /// Rows that ascend.
    #[must_use]
    pub fn of(segment: &'a Segment, rows: Vec<usize>) -> Self {
        Self { segment, rows }
    }
}

impl<'a> Rows<'a> for KeptRows<'a> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn columns(&self) -> Columns {
        let mut copy = Copied {
            segment: self.segment,
            runs: runs(&self.rows),
            rows: numbers_of(self.segment.rows(), self.rows.iter().copied()),
            columns: Columns::empty(),
        };
        copy.put_plain();
        copy.put_strings();
        copy.put_terms(&self.rows);
        copy.put_lists();
        copy.put_edges(&self.rows);
        copy.columns
    }

    fn vector(&self, at: usize) -> Vector<'a> {
        stored_vector(self.segment, self.rows[at])
    }

    fn pieces(&self, at: usize) -> Pieces<'a> {
        self.segment.pieces(self.rows[at])
    }
}

/// Ranges of rows that follow each other.
fn runs(rows: &[usize]) -> Vec<Range<usize>> {
    let runs = rows.chunk_by(|row, next| row + 1 == *next);
    runs.map(|run| run[0]..run[0] + run.len()).collect()
}

/// New numbers, from 0 in this order, by old ones; of the others `GONE`.
fn numbers_of(count: usize, kept: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut numbers = vec![GONE; count];
    for (new, old) in (0..).zip(kept) {
        numbers[old] = new;
    }
    numbers
}

/// The values of these ranges, one after the other.
fn values_of<T: Plain>(values: &[T], ranges: &[Range<usize>]) -> Vec<T> {
    let parts = ranges.iter().map(|range| &values[range.clone()]);
    parts.collect::<Vec<_>>().concat()
}

/// The offsets of the lists of these runs, and the ranges that the lists lie in.
fn offsets_of(offsets: &[u32], runs: &[Range<usize>]) -> (Vec<u32>, Vec<Range<usize>>) {
    let (mut new, mut ranges, mut end) = (vec![0], Vec::with_capacity(runs.len()), 0);
    for run in runs {
        let first = offsets[run.start];
        let lists = &offsets[run.start + 1..=run.end];
        new.extend(lists.iter().map(|offset| end + (offset - first)));
        end += offsets[run.end] - first;
        ranges.push(first as usize..offsets[run.end] as usize);
    }
    (new, ranges)
}

/// Columns on their way.
struct Copied<'a> {
    segment: &'a Segment,
    runs: Vec<Range<usize>>,
    /// New rows by old ones.
    rows: Vec<u32>,
    columns: Columns,
}

impl Copied<'_> {
    fn rows_of<T: Plain>(&self, section: Section) -> Vec<T> {
        values_of(self.segment.column(section), &self.runs)
    }

    /// The offsets and the values of a list column.
    fn list_of(&self, offsets: Section, values: Section) -> (Vec<u32>, Vec<u32>) {
        let (offsets, ranges) = offsets_of(self.segment.column(offsets), &self.runs);
        (offsets, values_of(self.segment.column(values), &ranges))
    }

    /// Puts these values of a section, each of so many parts.
    fn put_ranges(&mut self, section: Section, ranges: &[Range<usize>], parts: usize) {
        let width = SECTION_TABLE[section as usize].1 as usize * parts;
        let bytes = |range: &Range<usize>| range.start * width..range.end * width;
        let ranges: Vec<_> = ranges.iter().map(bytes).collect();
        let values = values_of::<u8>(self.segment.column(section), &ranges);
        self.columns.put(section, &values);
    }

    fn put_plain(&mut self) {
        use Section as S;
        let runs = self.runs.clone();
        for section in [
            S::Ids,
            S::Seq,
            S::Wseq,
            S::Attributes,
            S::Valid,
            S::Invalid,
            S::Created,
            S::Expired,
            S::Sequence,
            S::SourceRow,
            S::Lengths,
            S::Features,
        ] {
            self.put_ranges(section, &runs, 1);
        }
        let order = self.segment.column::<u32>(S::IdOrder).iter();
        let order = order.map(|row| self.rows[*row as usize]);
        let order: Vec<u32> = order.filter(|row| *row != GONE).collect();
        self.columns.put(S::IdOrder, &order);
        let (offsets, _) = offsets_of(self.segment.column(S::PieceOffsets), &runs);
        self.columns.put(S::PieceOffsets, &offsets);
    }

    fn put_strings(&mut self) {
        use Section as S;
        let texts = [
            S::Namespace,
            S::Scope,
            S::Author,
            S::Role,
            S::Session,
            S::Titles,
        ];
        let lists = [
            (S::TagOffsets, S::Tags),
            (S::SourceOffsets, S::Sources),
            (S::ActorOffsets, S::Actors),
            (S::KeywordOffsets, S::Keywords),
        ];
        let mut columns: Vec<(Section, Vec<u32>)> = Vec::new();
        columns.extend(texts.map(|section| (section, self.rows_of(section))));
        for (offsets, values) in lists {
            let (new, numbers) = self.list_of(offsets, values);
            self.columns.put(offsets, &new);
            columns.push((values, numbers));
        }
        let mut names = self.put_name_places();
        let mut used = vec![false; self.segment.column::<u64>(S::StringOffsets).len() - 1];
        let all = columns.iter().flat_map(|(_, numbers)| numbers);
        for number in all.chain(names.as_flattened()) {
            // Null is the number of no string.
            if let Some(used) = used.get_mut(*number as usize) {
                *used = true;
            }
        }
        let numbers = self.put_texts((S::StringOffsets, S::StringBytes), &used);
        let renumber = |number: &mut u32| {
            *number = numbers.get(*number as usize).copied().unwrap_or(NO_STRING);
        };
        names.as_flattened_mut().iter_mut().for_each(renumber);
        self.columns.put(S::Names, &names);
        for (section, mut column) in columns {
            column.iter_mut().for_each(renumber);
            self.columns.put(section, &column);
        }
    }

    /// Puts where the names of entities lie and their order; the names by old strings.
    fn put_name_places(&mut self) -> Vec<[u32; 2]> {
        use Section as S;
        let memories = self.segment.memory_rows();
        let entities = |run: &Range<usize>| {
            run.start.saturating_sub(memories)..run.end.saturating_sub(memories)
        };
        let runs: Vec<_> = self.runs.iter().map(entities).collect();
        let (offsets, ranges) = offsets_of(self.segment.column(S::NameOffsets), &runs);
        let names = self.segment.column(S::Names);
        let places = numbers_of(names.len(), ranges.iter().cloned().flatten());
        let order = self.segment.column::<u32>(S::NameOrder).iter();
        let order = order.map(|place| places[*place as usize]);
        let order: Vec<u32> = order.filter(|place| *place != GONE).collect();
        self.columns.put(S::NameOffsets, &offsets);
        self.columns.put(S::NameOrder, &order);
        values_of(names, &ranges)
    }

    /// Puts the texts that are used; their new numbers.
    fn put_texts(&mut self, (offsets, bytes): (Section, Section), used: &[bool]) -> Vec<u32> {
        let old = self.segment.column::<u64>(offsets);
        let held = self.segment.column::<u8>(bytes);
        let kept = || (0..used.len()).filter(|number| used[*number]);
        let (mut new, mut texts) = (vec![0], Vec::with_capacity(held.len()));
        for number in kept() {
            texts.extend_from_slice(&held[old[number] as usize..old[number + 1] as usize]);
            new.push(texts.len() as u64);
        }
        self.columns.put(offsets, &new);
        self.columns.put(bytes, &texts);
        numbers_of(used.len(), kept())
    }

    fn put_terms(&mut self, kept: &[usize]) {
        use Section as S;
        let terms = self.segment.term_count();
        let mut used = vec![false; terms];
        let most = self.segment.column::<u32>(S::PostingRows).len();
        let (mut rows, mut counts) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut starts = vec![0_u64];
        for (term, used) in used.iter_mut().enumerate() {
            let before = rows.len();
            let (old, old_counts) = self.segment.postings(term);
            for (row, count) in old.iter().zip(old_counts) {
                let row = self.rows[*row as usize];
                if row != GONE {
                    rows.push(row);
                    counts.push(*count);
                }
            }
            *used = rows.len() > before;
            if *used {
                starts.push(rows.len() as u64);
            }
        }
        self.columns.put(S::PostingOffsets, &starts);
        self.columns.put(S::PostingRows, &rows);
        self.columns.put(S::PostingCounts, &counts);
        let numbers = self.put_texts((S::TermOffsets, S::TermBytes), &used);
        let most = self.segment.column::<u8>(S::TextTerms).len();
        let (mut offsets, mut packed) = (vec![0_u64], Vec::with_capacity(most));
        for row in kept {
            for term in self.segment.text_terms(*row) {
                packed_number::push(&mut packed, numbers[term as usize]);
            }
            offsets.push(packed.len() as u64);
        }
        self.columns.put(S::TextTermOffsets, &offsets);
        self.columns.put(S::TextTerms, &packed);
    }

    fn put_lists(&mut self) {
        use Section as S;
        let events = [
            S::EventTypes,
            S::EventOccurred,
            S::EventRecorded,
            S::EventSeq,
            S::EventRow,
        ];
        for (offsets, values, parts) in [
            (S::EventOffsets, &events[..], 1),
            (S::WindowOffsets, &[S::WindowStarts, S::WindowEnds], 1),
            (
                S::QuestionOffsets,
                &[S::QuestionVectors],
                self.segment.lanes(),
            ),
        ] {
            let (new, ranges) = offsets_of(self.segment.column(offsets), &self.runs);
            self.columns.put(offsets, &new);
            for section in values {
                self.put_ranges(*section, &ranges, parts);
            }
        }
    }

    fn put_edges(&mut self, kept: &[usize]) {
        use Section as S;
        let segment = self.segment;
        let old = segment.column::<Record>(S::Edges);
        let old_others = segment.column::<Id>(S::OtherIds);
        let id_of = |node: usize| {
            segment
                .ids()
                .get(node)
                .unwrap_or_else(|| &old_others[node - segment.rows()])
        };
        // A row that is left out is one of the other ids, where an edge that stays ends at it.
        let mut nodes = self.rows.clone();
        nodes.resize(segment.rows() + old_others.len(), GONE);
        let numbers = || kept.iter().flat_map(|row| segment.edges(*row));
        let ends = numbers().map(|number| unpack(&old[number]).2 as usize);
        let mut others: Vec<usize> = ends.filter(|node| nodes[*node] == GONE).collect();
        others.sort_unstable_by_key(|node| id_of(*node));
        others.dedup();
        for (new, node) in (kept.len() as u32..).zip(&others) {
            nodes[*node] = new;
        }
        let (offsets, _) = offsets_of(segment.column(S::EdgeOffsets), &self.runs);
        let old_extras = segment.column::<u32>(S::ExtraEdges);
        let (mut records, mut extras) = (Vec::with_capacity(old.len()), Extras::default());
        let mut extra = 0;
        for number in numbers() {
            let mut record = old[number];
            let (_, _, end, start) = unpack(&record);
            let source = self.rows[(start & SOURCE_MASK) as usize] | start & !SOURCE_MASK;
            record[24..28].copy_from_slice(&nodes[end as usize].to_le_bytes());
            record[28..].copy_from_slice(&source.to_le_bytes());
            if start & EXTRA != 0 {
                // Both ascend.
                extra += old_extras[extra..].partition_point(|other| (*other as usize) < number);
                extras.numbers.push(records.len() as u32);
                extras
                    .confidence
                    .push(segment.column(S::ExtraConfidence)[extra]);
                extras.created.push(segment.column(S::ExtraCreated)[extra]);
                extras.expired.push(segment.column(S::ExtraExpired)[extra]);
            }
            records.push(record);
        }
        let edges = Edges {
            ids: self.rows_of(S::Ids),
            others: others.into_iter().map(|node| *id_of(node)).collect(),
            offsets,
            records,
            extras,
        };
        edges.put(&mut self.columns);
    }
}
