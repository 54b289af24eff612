//! Row versions to the columns of one segment. The columns of a set of rows depend on nothing but
//! the rows, so merging twice gives the same bytes as merging once.

use std::borrow::Cow;
use std::collections::HashMap;

mod edges;
pub mod kept;

use crate::segment::format::{SECTIONS, Section};
use crate::segment::image::Rows;
use crate::segment::map::{Plain, bytes_of};
use crate::segment::packed_number;
use crate::segment::row::RowVersion;
use crate::segment::{EventRow, KIND_ENTITY, NO_SEQUENCE, NO_STRING};

/// Numbers for texts by first use, later replaced by alphabetical ones.
#[derive(Default)]
struct Interner<'a> {
    numbers: HashMap<&'a str, u32>,
    texts: Vec<&'a str>,
}

impl<'a> Interner<'a> {
    fn number(&mut self, text: &'a str) -> u32 {
        *self.numbers.entry(text).or_insert_with(|| {
            self.texts.push(text);
            (self.texts.len() - 1) as u32
        })
    }

    /// (offsets, bytes, alphabetical number by provisional number).
    fn finish(&self) -> (Vec<u64>, Vec<u8>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.texts.len() as u32).collect();
        order.sort_unstable_by_key(|n| self.texts[*n as usize]);
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        let mut numbers = vec![0; self.texts.len()];
        for (alphabetical, provisional) in order.iter().enumerate() {
            numbers[*provisional as usize] = alphabetical as u32;
            bytes.extend_from_slice(self.texts[*provisional as usize].as_bytes());
            offsets.push(bytes.len() as u64);
        }
        (offsets, bytes, numbers)
    }
}

/// Rows that are at hand as row versions, with distinct ids.
pub trait Versions<'a>: Rows<'a> {
    /// One pass.
    fn iter<'s>(&'s self) -> impl Iterator<Item = Cow<'s, RowVersion<'a>>>
    where
        'a: 's;
}

/// Columns waiting for their place in the file.
pub struct Columns(pub(crate) [Vec<u8>; SECTIONS]);

impl Columns {
    fn empty() -> Self {
        Self(std::array::from_fn(|_| Vec::new()))
    }

    /// All but those that are made while they are written.
    pub(crate) fn of<'a>(rows: &impl Versions<'a>) -> Self {
        let mut columns = Self::empty();
        put_plain(&mut columns, rows);
        put_strings(&mut columns, rows);
        put_terms(&mut columns, rows);
        put_events(&mut columns, rows);
        put_windows(&mut columns, rows);
        edges::put_edges(&mut columns, rows);
        columns
    }

    /// Number of word pieces of all rows.
    pub(crate) fn pieces(&self) -> u64 {
        let offsets = &self.0[Section::PieceOffsets as usize];
        offsets
            .last_chunk::<4>()
            .map_or(0, |last| u64::from(u32::from_le_bytes(*last)))
    }

    fn put<T: Plain>(&mut self, section: Section, values: &[T]) {
        self.0[section as usize] = bytes_of(values).to_vec();
    }
}

fn put_plain<'a>(columns: &mut Columns, rows: &impl Versions<'a>) {
    use Section as S;
    let count = rows.count();
    fn wide<T>(count: usize) -> Vec<T> {
        Vec::with_capacity(count)
    }
    let (mut ids, mut attributes) = (wide(count), wide(count));
    let (mut lengths, mut features) = (wide(count), wide(count));
    let (mut piece_offsets, mut pieces) = (wide(count + 1), 0_u32);
    piece_offsets.push(pieces);
    let numbers = [
        S::Seq,
        S::Wseq,
        S::Valid,
        S::Invalid,
        S::Created,
        S::Expired,
        S::Sequence,
        S::SourceRow,
    ];
    let mut values: [Vec<i64>; 8] = std::array::from_fn(|_| wide(count));
    for row in rows.iter() {
        ids.push(row.id);
        attributes.push(row.attributes.to_bytes());
        lengths.push(row.length);
        features.push(row.features);
        pieces += row.pieces.ids.len() as u32;
        piece_offsets.push(pieces);
        let [valid, invalid, created, expired] = row.times;
        let sequence = row.sequence.unwrap_or(NO_SEQUENCE);
        let source_row = row.source_row.unwrap_or(NO_SEQUENCE);
        let row = [
            row.seq, row.wseq, valid, invalid, created, expired, sequence, source_row,
        ];
        values
            .iter_mut()
            .zip(row)
            .for_each(|(column, value)| column.push(value));
    }
    let mut id_order: Vec<u32> = (0..count as u32).collect();
    id_order.sort_unstable_by_key(|row| ids[*row as usize]);
    columns.put(S::Ids, &ids);
    columns.put(S::IdOrder, &id_order);
    columns.put(S::Attributes, &attributes);
    columns.put(S::Lengths, &lengths);
    columns.put(S::Features, &features);
    columns.put(S::PieceOffsets, &piece_offsets);
    for (section, column) in numbers.into_iter().zip(&values) {
        columns.put(section, column);
    }
}

fn put_strings<'a>(columns: &mut Columns, rows: &impl Versions<'a>) {
    use Section as S;
    let mut interner = Interner::default();
    let mut texts: [Vec<u32>; 6] = Default::default();
    let mut offsets: [Vec<u32>; 4] = std::array::from_fn(|_| vec![0]);
    let mut values: [Vec<u32>; 4] = Default::default();
    let mut names = edges::Names::default();
    for row in rows.iter() {
        let row_texts = [
            Some(row.namespace),
            row.scope,
            row.author,
            row.role,
            row.session,
            row.title,
        ];
        for (column, text) in texts.iter_mut().zip(row_texts) {
            column.push(text.map_or(NO_STRING, |text| interner.number(text)));
        }
        for (i, list) in row.lists.iter().enumerate() {
            values[i].extend(list.iter().map(|text| interner.number(text)));
            offsets[i].push(values[i].len() as u32);
        }
        if row.attributes.kind == KIND_ENTITY {
            let number = |text| interner.number(text);
            names.push(&row.names, number);
        }
    }
    let (text_offsets, bytes, numbers) = interner.finish();
    let renumber = |column: &mut Vec<u32>| {
        for n in column.iter_mut().filter(|n| **n != NO_STRING) {
            *n = numbers[*n as usize];
        }
    };
    texts.iter_mut().for_each(renumber);
    values.iter_mut().for_each(renumber);
    names.put(columns, &numbers);
    columns.put(S::StringOffsets, &text_offsets);
    columns.put(S::StringBytes, &bytes);
    let sections = [
        S::Namespace,
        S::Scope,
        S::Author,
        S::Role,
        S::Session,
        S::Titles,
    ];
    for (section, column) in sections.into_iter().zip(&texts) {
        columns.put(section, column);
    }
    let lists = [
        (S::TagOffsets, S::Tags),
        (S::SourceOffsets, S::Sources),
        (S::ActorOffsets, S::Actors),
        (S::KeywordOffsets, S::Keywords),
    ];
    for (i, (offsets_section, values_section)) in lists.into_iter().enumerate() {
        columns.put(offsets_section, &offsets[i]);
        columns.put(values_section, &values[i]);
    }
}

fn put_terms<'a>(columns: &mut Columns, rows: &impl Versions<'a>) {
    use Section as S;
    let mut interner = Interner::default();
    let mut holding: Vec<u64> = Vec::new();
    let (mut text_ends, mut text_terms) = (Vec::<usize>::new(), Vec::<u32>::new());
    let mut own: Vec<u32> = Vec::new();
    for row in rows.iter() {
        own.clear();
        own.extend(row.terms.iter().map(|(term, _)| interner.number(term)));
        for number in &own {
            let number = *number as usize;
            if number == holding.len() {
                holding.push(0);
            }
            holding[number] += 1;
        }
        text_terms.extend(row.text_terms.iter().map(|place| own[*place as usize]));
        text_ends.push(text_terms.len());
    }
    let (offsets, bytes, numbers) = interner.finish();
    let (mut text_offsets, mut packed, mut start) = (vec![0_u64], Vec::new(), 0);
    for end in text_ends {
        let own = &text_terms[std::mem::replace(&mut start, end)..end];
        own.iter()
            .for_each(|number| packed_number::push(&mut packed, numbers[*number as usize]));
        text_offsets.push(packed.len() as u64);
    }
    drop(text_terms);
    columns.put(S::TextTermOffsets, &text_offsets);
    columns.put(S::TextTerms, &packed);
    drop(packed);
    let mut starts = vec![0_u64; numbers.len() + 1];
    for (provisional, holding) in holding.into_iter().enumerate() {
        starts[numbers[provisional] as usize + 1] = holding;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    // Rows are visited in ascending order, so filling in order keeps every list ascending.
    let mut next = starts.clone();
    let postings = starts.last().map_or(0, |end| *end as usize);
    let (mut posting_rows, mut counts) = (vec![0_u32; postings], vec![0_u8; postings]);
    for (row, version) in rows.iter().enumerate() {
        for (term, count) in &version.terms {
            let next = &mut next[numbers[interner.number(term) as usize] as usize];
            posting_rows[*next as usize] = row as u32;
            counts[*next as usize] = *count;
            *next += 1;
        }
    }
    columns.put(S::TermOffsets, &offsets);
    columns.put(S::TermBytes, &bytes);
    columns.put(S::PostingOffsets, &starts);
    columns.put(S::PostingRows, &posting_rows);
    columns.put(S::PostingCounts, &counts);
}

fn put_events<'a>(columns: &mut Columns, rows: &impl Versions<'a>) {
    use Section as S;
    let mut offsets = vec![0_u32];
    let mut events: Vec<EventRow> = Vec::new();
    for row in rows.iter() {
        events.extend(&row.events);
        offsets.push(events.len() as u32);
    }
    let all = |of: fn(&EventRow) -> i64| events.iter().map(of).collect::<Vec<i64>>();
    columns.put(S::EventOffsets, &offsets);
    columns.put(
        S::EventTypes,
        &events.iter().map(|e| e.kind).collect::<Vec<u8>>(),
    );
    columns.put(S::EventOccurred, &all(|e| e.occurred));
    columns.put(S::EventRecorded, &all(|e| e.recorded));
    columns.put(S::EventSeq, &all(|e| e.seq));
    columns.put(S::EventRow, &all(|e| e.row));
}

fn put_windows<'a>(columns: &mut Columns, rows: &impl Versions<'a>) {
    use Section as S;
    let (mut offsets, mut question_offsets) = (vec![0_u32], vec![0_u32]);
    let (mut starts, mut ends, mut questions) = (Vec::new(), Vec::new(), 0);
    let mut vectors: Vec<f32> = Vec::new();
    for row in rows.iter() {
        starts.extend(row.windows.iter().map(|(start, _)| *start));
        ends.extend(row.windows.iter().map(|(_, end)| *end));
        offsets.push(starts.len() as u32);
        row.questions.iter().for_each(|unit| vectors.extend(*unit));
        questions += row.questions.len() as u32;
        question_offsets.push(questions);
    }
    columns.put(S::WindowOffsets, &offsets);
    columns.put(S::WindowStarts, &starts);
    columns.put(S::WindowEnds, &ends);
    columns.put(S::QuestionOffsets, &question_offsets);
    columns.put(S::QuestionVectors, &vectors);
}
