//! Row versions to one segment image. The image of a set of rows depends on nothing but the rows,
//! so merging twice gives the same bytes as merging once.
//!
//! Vectors and codes go to their place row by row; the other columns are held until then. A row is
//! made anew for each pass, so that rows of a file take no memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use crate::format::{self, ALIGNMENT, Extent, Header, Identity, SECTION_TABLE, SECTIONS, Section};
use crate::kernels::quantised::quantise_row;
use crate::map::{Held, Plain, bytes_of};
use crate::row::{RowVersion, Vector};
use crate::segment::{EventRow, NO_SEQUENCE, NO_STRING};

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

/// Row versions with distinct ids in order of (seq, id).
pub trait Rows<'a> {
    /// How many.
    fn count(&self) -> usize;
    /// One pass.
    fn iter<'s>(&'s self) -> impl Iterator<Item = Cow<'s, RowVersion<'a>>>
    where
        'a: 's;
    /// Of one row.
    fn vector(&self, at: usize) -> Vector<'a>;
}

/// Rows that are held anyway.
struct HeldRows<'r, 'a>(Vec<&'r RowVersion<'a>>);

impl<'a> Rows<'a> for HeldRows<'_, 'a> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn iter<'s>(&'s self) -> impl Iterator<Item = Cow<'s, RowVersion<'a>>>
    where
        'a: 's,
    {
        self.0.iter().map(|row| Cow::Borrowed(*row))
    }

    fn vector(&self, at: usize) -> Vector<'a> {
        self.0[at].vector.clone()
    }
}

/// Columns waiting for their place in the file.
struct Columns([Vec<u8>; SECTIONS]);

impl Columns {
    fn put<T: Plain>(&mut self, section: Section, values: &[T]) {
        self.0[section as usize] = bytes_of(values).to_vec();
    }
}

/// The image of these rows, without checksums of sections (see [`seal`]). Ids are distinct.
#[must_use]
pub fn build(identity: &Identity, rows: &[RowVersion<'_>]) -> Held {
    let mut order: Vec<&RowVersion<'_>> = rows.iter().collect();
    order.sort_unstable_by_key(|row| (row.seq, row.id));
    let rows = HeldRows(order);
    let image = Image::of(identity, &rows);
    let mut held = Held::zeroed(image.bytes() as usize);
    let mut place = held.bytes_mut();
    // The place is as long as the image, so nothing can fail.
    let header = image.write(&mut place, false).unwrap_or_default();
    held.bytes_mut()[..header.len()].copy_from_slice(&header);
    held
}

fn put_plain<'a>(columns: &mut Columns, rows: &impl Rows<'a>) {
    use Section as S;
    let count = rows.count();
    fn wide<T>(count: usize) -> Vec<T> {
        Vec::with_capacity(count)
    }
    let (mut ids, mut attributes, mut lengths) = (wide(count), wide(count), wide(count));
    let numbers = [
        S::Seq,
        S::Wseq,
        S::Valid,
        S::Invalid,
        S::Created,
        S::Expired,
        S::Sequence,
    ];
    let mut values: [Vec<i64>; 7] = std::array::from_fn(|_| wide(count));
    for row in rows.iter() {
        ids.push(row.id);
        attributes.push(row.attributes.to_bytes());
        lengths.push(row.length);
        let [valid, invalid, created, expired] = row.times;
        let sequence = row.sequence.unwrap_or(NO_SEQUENCE);
        let row = [
            row.seq, row.wseq, valid, invalid, created, expired, sequence,
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
    for (section, column) in numbers.into_iter().zip(&values) {
        columns.put(section, column);
    }
}

fn put_strings<'a>(columns: &mut Columns, rows: &impl Rows<'a>) {
    use Section as S;
    let mut interner = Interner::default();
    let mut texts: [Vec<u32>; 5] = Default::default();
    let mut offsets: [Vec<u32>; 3] = std::array::from_fn(|_| vec![0]);
    let mut values: [Vec<u32>; 3] = Default::default();
    for row in rows.iter() {
        let row_texts = [
            Some(row.namespace),
            row.scope,
            row.author,
            row.role,
            row.session,
        ];
        for (column, text) in texts.iter_mut().zip(row_texts) {
            column.push(text.map_or(NO_STRING, |text| interner.number(text)));
        }
        for (i, list) in row.lists.iter().enumerate() {
            values[i].extend(list.iter().map(|text| interner.number(text)));
            offsets[i].push(values[i].len() as u32);
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
    columns.put(S::StringOffsets, &text_offsets);
    columns.put(S::StringBytes, &bytes);
    for (section, column) in [S::Namespace, S::Scope, S::Author, S::Role, S::Session]
        .into_iter()
        .zip(&texts)
    {
        columns.put(section, column);
    }
    let lists = [
        (S::TagOffsets, S::Tags),
        (S::SourceOffsets, S::Sources),
        (S::ActorOffsets, S::Actors),
    ];
    for (i, (offsets_section, values_section)) in lists.into_iter().enumerate() {
        columns.put(offsets_section, &offsets[i]);
        columns.put(values_section, &values[i]);
    }
}

fn put_terms<'a>(columns: &mut Columns, rows: &impl Rows<'a>) {
    use Section as S;
    let mut interner = Interner::default();
    let mut holding: Vec<u64> = Vec::new();
    for row in rows.iter() {
        for (term, _) in &row.terms {
            let number = interner.number(term) as usize;
            if number == holding.len() {
                holding.push(0);
            }
            holding[number] += 1;
        }
    }
    let (offsets, bytes, numbers) = interner.finish();
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
    let (mut posting_rows, mut counts) = (vec![0_u32; postings], vec![0_u32; postings]);
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

fn put_events<'a>(columns: &mut Columns, rows: &impl Rows<'a>) {
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

/// An image on its way to memory or to a file.
pub struct Image<'r, R> {
    identity: &'r Identity,
    rows: &'r R,
    columns: Columns,
    extents: [Extent; SECTIONS],
}

impl<'r, 'a, R: Rows<'a>> Image<'r, R> {
    /// Makes all columns but the vectors and what belongs to them.
    #[must_use]
    pub fn of(identity: &'r Identity, rows: &'r R) -> Self {
        let mut columns = Columns(std::array::from_fn(|_| Vec::new()));
        put_plain(&mut columns, rows);
        put_strings(&mut columns, rows);
        put_terms(&mut columns, rows);
        put_events(&mut columns, rows);
        let mut extents = [Extent::default(); SECTIONS];
        let mut end = format::header_length(identity) as u64;
        for (i, extent) in extents.iter_mut().enumerate() {
            let width = SECTION_TABLE[i].1;
            let length = match BY_ROW.iter().position(|section| *section as usize == i) {
                Some(0 | 1) => (rows.count() * identity.lanes()) as u64 * width,
                Some(_) => rows.count() as u64 * width,
                None => columns.0[i].len() as u64,
            };
            *extent = Extent {
                offset: end.next_multiple_of(ALIGNMENT),
                length,
                crc: 0,
            };
            end = extent.offset + length;
        }
        Self {
            identity,
            rows,
            columns,
            extents,
        }
    }

    /// Length of the image.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.extents
            .last()
            .map_or(0, |extent| extent.offset + extent.length)
    }

    /// Writes everything in order, with zeros in the place of the header; returns the header.
    /// `summed`: with the checksums of all sections.
    pub fn write(mut self, out: &mut dyn Write, summed: bool) -> io::Result<Vec<u8>> {
        let (mut at, mut scales, mut bounds) = (0, Vec::new(), Vec::new());
        for i in 0..SECTIONS {
            put_zeros(out, self.extents[i].offset - at)?;
            at = self.extents[i].offset + self.extents[i].length;
            let mut part = Summed {
                out,
                crc: summed.then(crc32fast::Hasher::new),
            };
            match BY_ROW.iter().position(|section| *section as usize == i) {
                Some(0) => self.put_vectors(&mut part)?,
                Some(1) => (scales, bounds) = self.put_codes(&mut part)?,
                Some(2) => part.put(bytes_of(&scales))?,
                Some(_) => part.put(bytes_of(&bounds))?,
                None => part.put(&std::mem::take(&mut self.columns.0[i]))?,
            }
            self.extents[i].crc = part.crc.map_or(0, crc32fast::Hasher::finalize);
        }
        Ok(format::encode_header(&Header {
            identity: self.identity.clone(),
            rows: self.rows.count() as u64,
            extents: self.extents,
        }))
    }

    fn put_vectors(&self, part: &mut Summed<'_>) -> io::Result<()> {
        let none = vec![0.0_f32; self.identity.lanes()];
        (0..self.rows.count()).try_for_each(|at| {
            let vector = self.rows.vector(at);
            part.put(bytes_of(vector.unit().unwrap_or(&none)))
        })
    }

    /// Scales and bounds of the rows.
    fn put_codes(&self, part: &mut Summed<'_>) -> io::Result<(Vec<f32>, Vec<f32>)> {
        let count = self.rows.count();
        let (mut scales, mut bounds) = (vec![0.0; count], vec![0.0; count]);
        let mut fresh = vec![0_i8; self.identity.lanes()];
        for at in 0..count {
            let codes = match self.rows.vector(at) {
                Vector::None => {
                    fresh.fill(0);
                    fresh.as_slice()
                }
                Vector::Unit(unit) => {
                    (scales[at], bounds[at]) = quantise_row(unit, &mut fresh);
                    fresh.as_slice()
                }
                Vector::Coded(_, codes, scale, bound) => {
                    (scales[at], bounds[at]) = (scale, bound);
                    codes
                }
            };
            part.put(bytes_of(codes))?;
        }
        Ok((scales, bounds))
    }
}

/// Sections that are made while they are written.
const BY_ROW: [Section; 4] = [
    Section::Vectors,
    Section::Codes,
    Section::Scales,
    Section::Bounds,
];

/// A section on its way, with the checksum of what has passed.
struct Summed<'o> {
    out: &'o mut dyn Write,
    crc: Option<crc32fast::Hasher>,
}

impl Summed<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(crc) = &mut self.crc {
            crc.update(bytes);
        }
        self.out.write_all(bytes)
    }
}

fn put_zeros(out: &mut dyn Write, count: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), count), out).map(drop)
}

/// Fills in the checksums of all sections; what is written to a file is always sealed.
pub fn seal(held: &mut Held) -> Result<(), format::Damage> {
    let mut header = format::parse_header(held.bytes())?;
    for extent in &mut header.extents {
        let range = extent.offset as usize..(extent.offset + extent.length) as usize;
        extent.crc = format::checksum(&held.bytes()[range]);
    }
    let bytes = format::encode_header(&header);
    held.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
    Ok(())
}
