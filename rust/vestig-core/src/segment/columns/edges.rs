//! Edges to columns: by start, by end, and what does not fit a record.

use std::collections::HashMap;

use super::{Columns, Versions};
use crate::segment::format::Section;
use crate::segment::{
    EDGE_KINDS, EXTRA, EdgeVersion, Id, KIND_SHIFT, Record, SOURCE_MASK, by_strength, is_related,
    plain_value, unpack,
};

/// Columns of the edges that a record has no room for.
#[derive(Default)]
pub(super) struct Extras {
    pub(super) numbers: Vec<u32>,
    pub(super) confidence: Vec<f64>,
    pub(super) created: Vec<i64>,
    pub(super) expired: Vec<i64>,
}

/// The edges of all rows.
pub(super) struct Edges {
    /// Of the rows.
    pub(super) ids: Vec<Id>,
    /// Ends that are no rows, ascending.
    pub(super) others: Vec<Id>,
    pub(super) offsets: Vec<u32>,
    pub(super) records: Vec<Record>,
    pub(super) extras: Extras,
}

impl Edges {
    /// Puts them by start and by end.
    pub(super) fn put(&self, columns: &mut Columns) {
        use Section as S;
        let Self { ids, others, .. } = self;
        let nodes = ids.len() + others.len();
        put_incoming(columns, nodes, &self.records);
        put_related(columns, nodes, &self.records, |node| {
            ids.get(node).unwrap_or_else(|| &others[node - ids.len()])
        });
        columns.put(S::EdgeOffsets, &self.offsets);
        columns.put(S::Edges, &self.records);
        columns.put(S::ExtraEdges, &self.extras.numbers);
        columns.put(S::ExtraConfidence, &self.extras.confidence);
        columns.put(S::ExtraCreated, &self.extras.created);
        columns.put(S::ExtraExpired, &self.extras.expired);
        columns.put(S::OtherIds, others);
    }
}

impl Extras {
    fn push(&mut self, number: usize, edge: &EdgeVersion) {
        self.numbers.push(number as u32);
        self.confidence.push(edge.confidence.unwrap_or(f64::NAN));
        self.created.push(edge.created);
        self.expired.push(edge.expired);
    }
}

/// Place of an edge's type in a record.
fn place(edge: &EdgeVersion) -> u32 {
    let place = EDGE_KINDS.iter().position(|kind| *kind == edge.kind);
    place.unwrap_or_default() as u32
}

/// Edges of rows in the order of the image.
pub(super) fn put_edges<'a>(columns: &mut Columns, rows: &impl Versions<'a>) {
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
    let mut ids = Vec::<Id>::with_capacity(rows.count());
    for (source, row) in rows.iter().enumerate() {
        ids.push(row.id);
        let mut own: Vec<&EdgeVersion> = row.edges.iter().collect();
        own.sort_unstable_by_key(|edge| (place(edge), edge.id));
        for edge in own {
            let end = end_of(&edge.end);
            let mut start = source as u32 | place(edge) << KIND_SHIFT;
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
        }
        offsets.push(records.len() as u32);
    }
    let edges = Edges {
        ids,
        others,
        offsets,
        records,
        extras,
    };
    edges.put(columns);
}

/// Values by node, those of a node in the order given: (offsets, values).
fn by_node<T: Copy + Default>(
    nodes: usize,
    values: impl Iterator<Item = (usize, T)> + Clone,
) -> (Vec<u32>, Vec<T>) {
    let mut offsets = vec![0_u32; nodes + 1];
    for (node, _) in values.clone() {
        offsets[node + 1] += 1;
    }
    for i in 1..offsets.len() {
        offsets[i] += offsets[i - 1];
    }
    let mut next = offsets.clone();
    let mut sorted = vec![T::default(); offsets[nodes] as usize];
    for (node, value) in values {
        sorted[next[node] as usize] = value;
        next[node] += 1;
    }
    (offsets, sorted)
}

/// (number, start, end) of the edges that are RELATED, or of the others.
fn ends(records: &[Record], related: bool) -> impl Iterator<Item = (u32, usize, usize)> + Clone {
    (0..)
        .zip(records)
        .filter(move |(_, record)| is_related(record) == related)
        .map(|(number, record)| {
            let (_, _, end, start) = unpack(record);
            (number, (start & SOURCE_MASK) as usize, end as usize)
        })
}

fn put_incoming(columns: &mut Columns, nodes: usize, records: &[Record]) {
    let ends = ends(records, false).map(|(number, _, end)| (end, number));
    let (offsets, incoming) = by_node(nodes, ends);
    columns.put(Section::IncomingOffsets, &offsets);
    columns.put(Section::Incoming, &incoming);
}

fn put_related<'i>(
    columns: &mut Columns,
    nodes: usize,
    records: &[Record],
    id_of: impl Fn(usize) -> &'i Id,
) {
    let both = ends(records, true).flat_map(|(number, start, end)| {
        let back = (end, [start as u32, number]);
        let related = [Some((start, [end as u32, number])), Some(back)];
        // An edge of a node to itself is one way.
        related
            .into_iter()
            .take(if start == end { 1 } else { 2 })
            .flatten()
    });
    let (offsets, mut related) = by_node(nodes, both);
    for pair in offsets.windows(2) {
        let list = &mut related[pair[0] as usize..pair[1] as usize];
        list.sort_unstable_by(|a, b| by_strength(records, a, b, &id_of));
    }
    columns.put(Section::RelatedOffsets, &offsets);
    columns.put(Section::Related, &related);
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
