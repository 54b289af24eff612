//! Near-duplicates and neighbours of new vectors (C-07, G-07), exact and in one pass.

use crate::eligible::{Filter, eligible};
use crate::format::Section;
use crate::kernels::dot::{cosine, dot, unit};
use crate::kernels::quantised::{QuantisedQuery, approx_rows};
use crate::kernels::select::{descending, top_k};
use crate::segment::{Id, NO_STRING, Segment};
use crate::snapshot::{Bits, Snapshot, has, set_bits};

/// Rows of a segment from which the 8-bit pass is worth it.
const STAGED_ROWS: usize = 256;
/// Position of MEMORY in Kind.
const KIND_MEMORY: u8 = 0;
/// Position of active in Status.
const STATUS_ACTIVE: u8 = 0;

/// A new text.
#[derive(Debug, Clone, Default)]
pub struct Probe {
    /// As the embedder gave it.
    pub vector: Vec<f32>,
    /// Near only in the same scope.
    pub scope: Option<String>,
    /// Near only by the same author.
    pub author: Option<String>,
    /// Never near.
    pub exclude: Vec<Id>,
}

/// How much is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Cosine, inclusive, rounded to float32 (B-16).
    pub threshold: f64,
    /// 0 = none.
    pub top: usize,
}

/// (id, cosine), best first, ties by id.
pub type Neighbours = Vec<(Id, f64)>;

/// Per probe: active or archived MEMORY rows of its namespace, scope and author; and active
/// MEMORY rows of the namespace.
#[must_use]
pub fn similar(
    snapshot: &Snapshot,
    namespace: &str,
    probes: &[Probe],
    near: Limits,
    related: Limits,
    threads: usize,
) -> Vec<(Neighbours, Neighbours)> {
    let filter = Filter {
        namespace: namespace.to_owned(),
        kinds: Some(vec![KIND_MEMORY]),
        include_archived: true,
        ..Filter::default()
    };
    let fields: Vec<(&Segment, Bits)> = snapshot
        .parts
        .iter()
        .map(|part| {
            let mut bits = eligible(part, &filter).0;
            bits.iter_mut()
                .zip(part.segment.embedded())
                .for_each(|(bits, has)| *bits &= has);
            (part.segment.as_ref(), bits)
        })
        .collect();
    let one = |probe: &Probe| neighbours(&fields, snapshot.identity.lanes(), probe, near, related);
    let share = probes.len().div_ceil(threads.max(1)).max(1);
    if share >= probes.len() {
        return probes.iter().map(one).collect();
    }
    let mut found = vec![(Vec::new(), Vec::new()); probes.len()];
    std::thread::scope(|scope| {
        for (probes, found) in probes.chunks(share).zip(found.chunks_mut(share)) {
            scope.spawn(|| {
                for (probe, found) in probes.iter().zip(found) {
                    *found = one(probe);
                }
            });
        }
    });
    found
}

fn neighbours(
    fields: &[(&Segment, Bits)],
    lanes: usize,
    probe: &Probe,
    near: Limits,
    related: Limits,
) -> (Neighbours, Neighbours) {
    let (mut close, mut linked) = (Vec::new(), Vec::new());
    let mut vector = vec![0.0; lanes];
    unit(&probe.vector, &mut vector);
    let asked = [near, related].into_iter().filter(|limits| limits.top > 0);
    let Some(least) = asked.map(|limits| limits.threshold as f32).reduce(f32::min) else {
        return (close, linked);
    };
    for (segment, bits) in fields {
        let place = Place::of(segment, probe);
        for (row, value) in reaching(segment, bits, &vector, least) {
            let found = (segment.ids()[row], cosine(value));
            if near.top > 0 && value >= near.threshold as f32 && place.holds(segment, row) {
                close.push(found);
            }
            let active = segment.attributes(row).status == STATUS_ACTIVE;
            if related.top > 0 && value >= related.threshold as f32 && active {
                linked.push(found);
            }
        }
    }
    close.retain(|(id, _)| !probe.exclude.contains(id));
    let order = |a: &(Id, f64), b: &(Id, f64)| descending(a.1, b.1).then(a.0.cmp(&b.0));
    top_k(&mut close, near.top, order);
    top_k(&mut linked, related.top, order);
    (close, linked)
}

/// Scope and author of a probe as numbers of one segment.
struct Place([Option<u32>; 2]);

impl Place {
    fn of(segment: &Segment, probe: &Probe) -> Self {
        let number = |text: &Option<String>| match text {
            None => Some(NO_STRING),
            Some(text) => segment.string_number(text),
        };
        Self([number(&probe.scope), number(&probe.author)])
    }

    fn holds(&self, segment: &Segment, row: usize) -> bool {
        let columns = [Section::Scope, Section::Author];
        columns
            .iter()
            .zip(self.0)
            .all(|(s, wanted)| Some(segment.column::<u32>(*s)[row]) == wanted)
    }
}

/// Rows whose exact dot product is at least `least`.
fn reaching(segment: &Segment, bits: &Bits, vector: &[f32], least: f32) -> Vec<(usize, f32)> {
    let mut found = Vec::new();
    let mut keep = |row: usize| {
        let value = dot(vector, segment.vector(row));
        if value >= least {
            found.push((row, value));
        }
    };
    if segment.memory_rows() < STAGED_ROWS {
        set_bits(bits).for_each(keep);
        return found;
    }
    let query = QuantisedQuery::new(vector);
    let mut approximate = vec![0.0; segment.memory_rows()];
    let codes = segment.column::<i8>(Section::Codes);
    approx_rows(
        &query,
        codes,
        segment.column::<f32>(Section::Scales),
        &mut approximate,
    );
    let bounds = segment.column::<f32>(Section::Bounds);
    for (row, value) in approximate.into_iter().enumerate() {
        let high = f64::from(value) + f64::from(query.bound(bounds[row]));
        if high >= f64::from(least) && has(bits, row) {
            keep(row);
        }
    }
    found
}
