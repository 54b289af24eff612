//! Unified search over memories and entities: by cosine and by links.

use std::collections::{HashMap, VecDeque};

use crate::kernels::bits::{Bits, has, set_bits};
use crate::kernels::dot::{cosine, dot, unit};
use crate::kernels::quantised::{QuantisedQuery, STAGED_ROWS, approx_rows};
use crate::kernels::top_k::{descending, top_k};
use crate::query::filter::{Filter, eligible, eligible_entities};
use crate::query::graph::{Graph, Node};
use crate::segment::format::Section;
use crate::segment::{Id, KIND_ENTITY, NO_TIME, Segment};
use crate::snapshot::{Part, Snapshot};

/// A type of entity that stands for all of them.
const UNTYPED: &str = "UNTYPED";

/// Eligible rows of the chosen kinds in every part.
fn nodes(snapshot: &Snapshot, filter: &Filter, memories: bool, entities: bool) -> Vec<Bits> {
    let of = |part: &Part| {
        let mut bits = if memories {
            eligible(part, filter).0
        } else {
            vec![0; part.live.len()]
        };
        if entities {
            let more = eligible_entities(part, filter);
            bits.iter_mut()
                .zip(more)
                .for_each(|(word, more)| *word |= more);
        }
        bits
    };
    snapshot.parts.iter().map(of).collect()
}

/// The nodes with a vector nearest to this one: (id, kind, cosine), best first, ties by id.
#[must_use]
pub fn search(
    snapshot: &Snapshot,
    vector: &[f32],
    filter: &Filter,
    (memories, entities): (bool, bool),
    top: usize,
) -> Vec<(Id, u8, f64)> {
    let mut query = vec![0.0; snapshot.identity.lanes()];
    unit(vector, &mut query);
    let quantised = QuantisedQuery::new(&query);
    let chosen = nodes(snapshot, filter, memories, entities);
    let mut possible: Vec<(usize, usize, f32, f32)> = Vec::new();
    for (i, (part, bits)) in snapshot.parts.iter().zip(&chosen).enumerate() {
        let segment = part.segment.as_ref();
        let rows = set_bits(bits).filter(|row| has(segment.embedded(), *row));
        if segment.rows() < STAGED_ROWS {
            possible.extend(rows.map(|row| {
                let value = dot(&query, segment.vector(row));
                (i, row, value, value)
            }));
            continue;
        }
        let mut values = vec![0.0; segment.rows()];
        let codes = segment.column::<i8>(Section::Codes);
        approx_rows(
            &quantised,
            codes,
            segment.column::<f32>(Section::Scales),
            &mut values,
        );
        let bounds = segment.column::<f32>(Section::Bounds);
        possible.extend(rows.map(|row| {
            let bound = quantised.bound(bounds[row]);
            (i, row, values[row] - bound, values[row] + bound)
        }));
    }
    if possible.len() > top && top > 0 {
        let mut lows: Vec<f32> = possible.iter().map(|(_, _, low, _)| *low).collect();
        let (_, least, _) = lows.select_nth_unstable_by(top - 1, |a, b| b.total_cmp(a));
        // Above the roundings of a bound.
        let least = *least - 1e-6;
        possible.retain(|(_, _, _, high)| *high >= least);
    }
    let min = filter.min_similarity.map(|least| f64::from(least as f32));
    let exact = |(i, row, _, _): (usize, usize, f32, f32)| {
        let segment = snapshot.parts[i].segment.as_ref();
        let value = cosine(dot(&query, segment.vector(row)));
        (segment.ids()[row], segment.attributes(row).kind, value)
    };
    let mut found: Vec<(Id, u8, f64)> = possible
        .into_iter()
        .map(exact)
        .filter(|(_, _, value)| min.is_none_or(|least| *value >= least))
        .collect();
    top_k(&mut found, top, |a, b| {
        descending(a.2, b.2).then(a.0.cmp(&b.0))
    });
    found
}

/// A breadth-first search nodes_by_depth seeds.
#[derive(Debug, Clone)]
pub struct NeighbourhoodQuery {
    /// Memories and entities; ineligible ones are left out.
    pub seeds: Vec<Id>,
    /// Most edges from the nearest seed.
    pub depth: usize,
    /// True if memories are among the results; they are walked through in any case.
    pub memories: bool,
    /// True if entities are among the results.
    pub entities: bool,
    /// Entities with more neighbours are among the results, but not walked through.
    pub max_degree: usize,
    /// Seeds have the distance to the nearest other seed.
    pub others: bool,
}

/// (id, kind, depth) of the nodes nodes_by_depth the seeds, by (depth, id).
pub type NodesByDepth = Vec<(Id, u8, usize)>;

/// Breadth-first over all edges in both directions, through eligible nodes: what is within `depth`,
/// and the ids of the entities that were not walked through, ascending.
#[must_use]
pub fn neighbourhood(
    snapshot: &Snapshot,
    filter: &Filter,
    query: &NeighbourhoodQuery,
) -> (NodesByDepth, Vec<Id>) {
    let graph = Graph::new(snapshot, filter.graph_time());
    let eligible = nodes(snapshot, filter, true, true);
    let passes = |node: Node| has(&eligible[node.part as usize], node.row as usize);
    // A node keeps the nearest seeds, two when the nearest may be itself.
    let kept = if query.others { 2 } else { 1 };
    let mut labels: HashMap<Node, Vec<(Node, usize)>> = HashMap::new();
    let mut queue: VecDeque<(Node, Node, usize)> = VecDeque::new();
    let mut seeds: Vec<Node> = query
        .seeds
        .iter()
        .filter_map(|id| graph.locate(id))
        .collect();
    seeds.retain(|node| passes(*node));
    seeds.sort_unstable();
    seeds.dedup();
    queue.extend(seeds.iter().map(|seed| (*seed, *seed, 0)));
    let (mut near, mut hubs) = (Vec::new(), Vec::new());
    while let Some((node, seed, depth)) = queue.pop_front() {
        let own = labels.entry(node).or_default();
        if own.len() == kept || own.iter().any(|(known, _)| *known == seed) {
            continue;
        }
        own.push((seed, depth));
        if depth == query.depth {
            continue;
        }
        near.clear();
        graph.neighbours(node, &mut near);
        near.retain(|neighbour| passes(neighbour.node));
        near.sort_unstable_by_key(|neighbour| neighbour.node);
        near.dedup_by_key(|neighbour| neighbour.node);
        let entity = kind_of(&graph, node) == KIND_ENTITY;
        if entity && near.len() > query.max_degree {
            hubs.push(graph.id(node));
            continue;
        }
        queue.extend(
            near.iter()
                .map(|neighbour| (neighbour.node, seed, depth + 1)),
        );
    }
    let mut nodes_by_depth: NodesByDepth = Vec::new();
    for (node, own) in labels {
        let kind = kind_of(&graph, node);
        if !(if kind == KIND_ENTITY {
            query.entities
        } else {
            query.memories
        }) {
            continue;
        }
        let other = own.iter().find(|(seed, _)| !query.others || *seed != node);
        if let Some((_, depth)) = other {
            nodes_by_depth.push((graph.id(node), kind, *depth));
        }
    }
    nodes_by_depth.sort_unstable_by_key(|(id, _, depth)| (*depth, *id));
    hubs.sort_unstable();
    hubs.dedup();
    (nodes_by_depth, hubs)
}

fn kind_of(graph: &Graph<'_>, node: Node) -> u8 {
    graph.segment(node).attributes(node.row as usize).kind
}

/// Per vector, the nearest unexpired entity of its type with at least this cosine.
#[must_use]
pub fn entity_similar(
    snapshot: &Snapshot,
    namespace: &str,
    asked: &[(Vec<f32>, String)],
    threshold: f64,
) -> Vec<Option<(Id, f64)>> {
    let least = threshold as f32;
    let one = |(vector, kind): &(Vec<f32>, String)| {
        let mut query = vec![0.0; snapshot.identity.lanes()];
        unit(vector, &mut query);
        let mut best: Option<(f32, Id)> = None;
        for part in &snapshot.parts {
            for row in unexpired(part, namespace, kind) {
                let segment = part.segment.as_ref();
                let (value, id) = (dot(&query, segment.vector(row)), segment.ids()[row]);
                let better = |(most, held): (f32, Id)| value > most || (value == most && id < held);
                if value >= least && best.is_none_or(better) {
                    best = Some((value, id));
                }
            }
        }
        best.map(|(value, id)| (id, cosine(value)))
    };
    asked.iter().map(one).collect()
}

/// Rows of the entities of a type that have a vector.
fn unexpired<'a>(
    part: &'a Part,
    namespace: &str,
    kind: &str,
) -> impl Iterator<Item = usize> + use<'a> {
    let segment: &'a Segment = part.segment.as_ref();
    let wanted = (
        segment.string_number(namespace),
        segment.string_number(kind),
    );
    let any = kind == UNTYPED;
    let rows = if wanted.0.is_some() && (any || wanted.1.is_some()) {
        segment.memory_rows()..segment.rows()
    } else {
        0..0
    };
    let namespaces = segment.column::<u32>(Section::Namespace);
    let types = segment.column::<u32>(Section::Role);
    let expired = segment.column::<i64>(Section::Expired);
    rows.filter(move |row| {
        Some(namespaces[*row]) == wanted.0
            && (any || Some(types[*row]) == wanted.1)
            && expired[*row] == NO_TIME
            && has(segment.embedded(), *row)
            && has(&part.live, *row)
    })
}
