//! Row versions to one segment image, and back. The image of a set of rows depends on nothing
//! but the rows, so merging twice gives the same bytes as merging once.

use std::collections::HashMap;

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
    let mut columns = Columns(std::array::from_fn(|_| Vec::new()));
    put_plain(&mut columns, &order);
    put_strings(&mut columns, &order);
    put_terms(&mut columns, &order);
    put_events(&mut columns, &order);
    assemble(identity, &order, &columns)
}

fn put_plain(columns: &mut Columns, rows: &[&RowVersion<'_>]) {
    use Section as S;
    fn all<T>(rows: &[&RowVersion<'_>], of: impl Fn(&RowVersion<'_>) -> T) -> Vec<T> {
        rows.iter().map(|row| of(row)).collect()
    }
    let mut id_order: Vec<u32> = (0..rows.len() as u32).collect();
    id_order.sort_unstable_by_key(|row| rows[*row as usize].id);
    columns.put(S::Ids, &all(rows, |r| r.id));
    columns.put(S::IdOrder, &id_order);
    columns.put(S::Seq, &all(rows, |r| r.seq));
    columns.put(S::Wseq, &all(rows, |r| r.wseq));
    columns.put(S::Attributes, &all(rows, |r| r.attributes.to_bytes()));
    for (i, section) in [S::Valid, S::Invalid, S::Created, S::Expired]
        .into_iter()
        .enumerate()
    {
        columns.put(section, &all(rows, |r| r.times[i]));
    }
    columns.put(
        S::Sequence,
        &all(rows, |r| r.sequence.unwrap_or(NO_SEQUENCE)),
    );
    columns.put(S::Lengths, &all(rows, |r| r.length));
}

fn put_strings(columns: &mut Columns, rows: &[&RowVersion<'_>]) {
    use Section as S;
    let mut interner = Interner::default();
    let mut texts: [Vec<u32>; 5] = Default::default();
    let mut offsets: [Vec<u32>; 3] = std::array::from_fn(|_| vec![0]);
    let mut values: [Vec<u32>; 3] = Default::default();
    for row in rows {
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

fn put_terms(columns: &mut Columns, rows: &[&RowVersion<'_>]) {
    use Section as S;
    let mut interner = Interner::default();
    let mut postings: Vec<(u32, u32, u32)> = Vec::new();
    for (row, version) in rows.iter().enumerate() {
        for (term, count) in &version.terms {
            postings.push((interner.number(term), row as u32, *count));
        }
    }
    let (offsets, bytes, numbers) = interner.finish();
    let mut starts = vec![0_u64; numbers.len() + 1];
    for posting in &mut postings {
        posting.0 = numbers[posting.0 as usize];
        starts[posting.0 as usize + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    // Rows were visited in ascending order, so filling in order keeps every list ascending.
    let mut next = starts.clone();
    let (mut posting_rows, mut counts) = (vec![0_u32; postings.len()], vec![0; postings.len()]);
    for (term, row, count) in postings {
        let at = next[term as usize] as usize;
        next[term as usize] += 1;
        posting_rows[at] = row;
        counts[at] = count;
    }
    columns.put(S::TermOffsets, &offsets);
    columns.put(S::TermBytes, &bytes);
    columns.put(S::PostingOffsets, &starts);
    columns.put(S::PostingRows, &posting_rows);
    columns.put(S::PostingCounts, &counts);
}

fn put_events(columns: &mut Columns, rows: &[&RowVersion<'_>]) {
    use Section as S;
    let mut offsets = vec![0_u32];
    let mut events: Vec<EventRow> = Vec::new();
    for row in rows {
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

fn assemble(identity: &Identity, rows: &[&RowVersion<'_>], columns: &Columns) -> Held {
    let lanes = identity.lanes();
    let mut extents = [Extent::default(); SECTIONS];
    let mut end = format::header_length(identity) as u64;
    for (i, extent) in extents.iter_mut().enumerate() {
        let width = SECTION_TABLE[i].1;
        let length = match i {
            _ if i == Section::Vectors as usize || i == Section::Codes as usize => {
                (rows.len() * lanes) as u64 * width
            }
            _ if i == Section::Scales as usize || i == Section::Bounds as usize => {
                rows.len() as u64 * width
            }
            _ => columns.0[i].len() as u64,
        };
        *extent = Extent {
            offset: end.next_multiple_of(ALIGNMENT),
            length,
            crc: 0,
        };
        end = extent.offset + length;
    }
    let mut held = Held::zeroed(end as usize);
    let image = held.bytes_mut();
    for (extent, column) in extents.iter().zip(&columns.0) {
        image[extent.offset as usize..][..column.len()].copy_from_slice(column);
    }
    let start = |section: Section| extents[section as usize].offset as usize;
    let mut fresh = vec![0_i8; lanes];
    for (i, row) in rows.iter().enumerate() {
        let (unit, codes, scale, bound) = match row.vector {
            Vector::None => continue,
            Vector::Coded(unit, codes, scale, bound) => (unit, codes, scale, bound),
            Vector::Unit(unit) => {
                let (scale, bound) = quantise_row(unit, &mut fresh);
                (unit, fresh.as_slice(), scale, bound)
            }
        };
        image[start(Section::Vectors) + i * lanes * 4..][..lanes * 4]
            .copy_from_slice(bytes_of(unit));
        image[start(Section::Codes) + i * lanes..][..lanes].copy_from_slice(bytes_of(codes));
        image[start(Section::Scales) + i * 4..][..4].copy_from_slice(&scale.to_le_bytes());
        image[start(Section::Bounds) + i * 4..][..4].copy_from_slice(&bound.to_le_bytes());
    }
    let header = Header {
        identity: identity.clone(),
        rows: rows.len() as u64,
        extents,
    };
    let bytes = format::encode_header(&header);
    image[..bytes.len()].copy_from_slice(&bytes);
    held
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
