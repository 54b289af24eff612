//! Edges to columns: by start, by end, and what does not fit a record.

use std::collections::HashMap;

use super::{Columns, Rows};
use crate::format::Section;
use crate::segment::{EDGE_KINDS, EXTRA, EdgeVersion, Id, KIND_SHIFT, Record, plain_value};

/// Columns of the edges that a record has no room for.
#[derive(Default)]
struct Extras {
    numbers: Vec<u32>,
    confidence: Vec<f64>,
    created: Vec<i64>,
    expired: Vec<i64>,
}

impl Extras {
    fn push(&mut self, number: usize, edge: &EdgeVersion) {
        self.numbers.push(number as u32);
        self.confidence.push(edge.confidence.unwrap_or(f64::NAN));
        self.created.push(edge.created);
        self.expired.push(edge.expired);
    }
}

/// Edges of rows in the order of the image.
pub(super) fn put_edges<'a>(columns: &mut Columns, rows: &impl Rows<'a>) {
    use Section as S;
    let mut places: HashMap<Id, u32> = HashMap::with_capacity(rows.count());
    let (mut others, mut edges) = (Vec::<Id>::new(), 0);
    for (at, row) in rows.iter().enumerate() {
        places.insert(row.id, at as u32);
        edges += row.edges.len();
    }
    for row in rows.iter() {
        let ends = row.edges.iter().map(|edge| edge.end);
        others.extend(ends.filter(|end| !places.contains_key(end)));
    }
    others.sort_unstable();
    others.dedup();
    let end_of = |id: &Id| match places.get(id) {
        Some(row) => *row as usize,
        // Every end that is no row stands in `others`.
        None => rows.count() + others.binary_search(id).unwrap_or_default(),
    };
    let (mut offsets, mut records) = (vec![0_u32], Vec::<Record>::with_capacity(edges));
    let mut extras = Extras::default();
    let mut counts = vec![0_u32; rows.count() + others.len() + 1];
    for (source, row) in rows.iter().enumerate() {
        let mut own: Vec<&EdgeVersion> = row.edges.iter().collect();
        own.sort_unstable_by_key(|edge| edge.id);
        for edge in own {
            let end = end_of(&edge.end);
            let kind = EDGE_KINDS.iter().position(|kind| *kind == edge.kind);
            let mut start = source as u32 | (kind.unwrap_or_default() as u32) << KIND_SHIFT;
            let value = plain_value(edge, row.times[2]).unwrap_or_else(|| {
                start |= EXTRA;
                extras.push(records.len(), edge);
                edge.weight
            });
            let mut record = [0; 32];
            record[..16].copy_from_slice(&edge.id);
            record[16..24].copy_from_slice(&value.to_le_bytes());
            record[24..28].copy_from_slice(&(end as u32).to_le_bytes());
            record[28..].copy_from_slice(&start.to_le_bytes());
            records.push(record);
            counts[end + 1] += 1;
        }
        offsets.push(records.len() as u32);
    }
    put_incoming(columns, counts, &records);
    columns.put(S::EdgeOffsets, &offsets);
    columns.put(S::Edges, &records);
    columns.put(S::ExtraEdges, &extras.numbers);
    columns.put(S::ExtraConfidence, &extras.confidence);
    columns.put(S::ExtraCreated, &extras.created);
    columns.put(S::ExtraExpired, &extras.expired);
    columns.put(S::OtherIds, &others);
}

/// `counts`: one more than the edges that end before each node.
fn put_incoming(columns: &mut Columns, mut counts: Vec<u32>, records: &[Record]) {
    for i in 1..counts.len() {
        counts[i] += counts[i - 1];
    }
    let mut next = counts.clone();
    let mut incoming = vec![0_u32; records.len()];
    for (number, record) in records.iter().enumerate() {
        let end = crate::segment::unpack(record).2 as usize;
        incoming[next[end] as usize] = number as u32;
        next[end] += 1;
    }
    columns.put(Section::IncomingOffsets, &counts);
    columns.put(Section::Incoming, &incoming);
}

/// Names of entities, by provisional string numbers.
#[derive(Default)]
pub(super) struct Names {
    offsets: Vec<u32>,
    pairs: Vec<[u32; 2]>,
}

impl Names {
    pub(super) fn push<'a>(
        &mut self,
        names: &[(&'a str, &'a str)],
        mut number: impl FnMut(&'a str) -> u32,
    ) {
        for (norm, name) in names {
            self.pairs.push([number(norm), number(name)]);
        }
        self.offsets.push(self.pairs.len() as u32);
    }

    /// `numbers`: final string numbers by provisional ones.
    pub(super) fn put(mut self, columns: &mut Columns, numbers: &[u32]) {
        self.offsets.insert(0, 0);
        for number in self.pairs.as_flattened_mut() {
            *number = numbers[*number as usize];
        }
        let mut order: Vec<u32> = (0..self.pairs.len() as u32).collect();
        order.sort_unstable_by_key(|at| (self.pairs[*at as usize][0], *at));
        columns.put(Section::NameOffsets, &self.offsets);
        columns.put(Section::Names, &self.pairs);
        columns.put(Section::NameOrder, &order);
    }
}
