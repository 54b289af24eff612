//! Two-hop signals from the best memories by L₁: `pair`, what such a memory and another one with a
//! common entity hold of the query together, and `title`, whose title it mentions as an entity.

use std::collections::HashMap;

use super::analysed_query::Query;
use super::eligible_graph::EligibleGraph;
use super::metadata_signals::fill_sparse;
use super::segment_columns::{SegmentColumns, TermStatistics};
use super::signal::Signal;
use crate::kernels::bits::set_bits;
use crate::kernels::entity_walk::{Mentions, mentions_max};
use crate::kernels::lexical;
use crate::query::graph::Node;
use crate::segment::NO_STRING;
use crate::segment::format::Section;

/// How many of the best memories by L₁ these signals start from.
pub(super) const STARTS: usize = 5;

/// idf · saturation of every term of the query in a memory.
fn term_shares(
    parts: &[SegmentColumns<'_>],
    query: &Query,
    words: &TermStatistics,
    node: Node,
) -> Vec<f64> {
    let segment = parts[node.part as usize].segment;
    let length = segment.column::<u32>(Section::Lengths)[node.row as usize];
    let norm = words.norms.of(length);
    let of = |(term, idf): (&String, &f64)| {
        let (rows, counts) = segment.postings(segment.term_number(term)? as usize);
        let at = rows.binary_search(&node.row).ok()?;
        Some(idf * lexical::saturation(lexical::frequency(counts[at]), norm))
    };
    let terms = query.terms.iter().flatten().zip(&words.idfs);
    terms.map(|term| of(term).unwrap_or(0.0)).collect()
}

/// Numbers of the other memories that mention an entity of this one; entities that too many
/// memories mention do not count.
fn co_mentioning(graph: &mut EligibleGraph<'_>, start: u32) -> Vec<u32> {
    let most = mentions_max(graph.memories_total());
    let (mut entities, mut found) = (Vec::new(), Vec::new());
    graph.entities(start, &mut entities);
    for entity in entities {
        if graph.degree(entity, most) <= most {
            graph.memories(entity, &mut found);
        }
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|other| *other != start);
    found
}

/// Fills in `pair.pair` and `pair.gain`; the largest value of each.
pub(super) fn pairs(
    parts: &mut [SegmentColumns<'_>],
    graph: &mut EligibleGraph<'_>,
    query: &Query,
    words: &TermStatistics,
    starts: &[(Node, f64)],
) -> [f64; 2] {
    let total: f64 = words.idfs.iter().sum();
    let mut found: HashMap<u32, [f64; 2]> = HashMap::new();
    for (start, _) in starts {
        let own = term_shares(parts, query, words, *start);
        let alone = own.iter().sum::<f64>() / total;
        for other in co_mentioning(graph, graph.number(*start)) {
            let theirs = term_shares(parts, query, words, graph.node(other));
            let both = own.iter().zip(&theirs).map(|(a, b)| a.max(*b));
            let pair = both.sum::<f64>() / total;
            let [most, gain] = found.entry(other).or_default();
            *most = most.max(pair);
            *gain = gain.max(pair - alone);
        }
    }
    [(0, Signal::PairPair), (1, Signal::PairGain)].map(|(part, signal)| {
        let value = |(number, values): (&u32, &[f64; 2])| (graph.node(*number), values[part]);
        fill_sparse(parts, signal, found.iter().map(value).collect())
    })
}

/// Fills in `title`; its largest value.
pub(super) fn titles(
    parts: &mut [SegmentColumns<'_>],
    graph: &EligibleGraph<'_>,
    query: &Query,
    starts: &[(Node, f64)],
) -> f64 {
    // Names, each with those who know it: rank and memory; no memory = the query.
    let mut known: HashMap<String, Vec<(usize, Option<Node>)>> = HashMap::new();
    for (id, _) in &query.entities {
        if let Some(name) = graph.locate(id).and_then(|node| graph.normal_name(node)) {
            known.entry(name.into()).or_default().push((0, None));
        }
    }
    for (rank, (start, _)) in starts.iter().enumerate() {
        for entity in graph.entities_of(*start) {
            if let Some(name) = graph.normal_name(entity) {
                known
                    .entry(name.into())
                    .or_default()
                    .push((rank, Some(*start)));
            }
        }
    }
    let mut found = Vec::new();
    for (part, columns) in parts
        .iter()
        .enumerate()
        .filter(|(_, columns)| columns.any_eligible)
    {
        let numbers: HashMap<u32, &Vec<(usize, Option<Node>)>> = known
            .iter()
            .filter_map(|(name, by)| Some((columns.segment.string_number(name)?, by)))
            .collect();
        if numbers.is_empty() {
            continue;
        }
        // Most rows have no title, so the column is looked up once, not by row.
        let titles = columns.segment.column::<u32>(Section::Titles);
        for row in set_bits(&columns.eligible).filter(|row| titles[*row] != NO_STRING) {
            let Some(by) = numbers.get(&titles[row]) else {
                continue;
            };
            let node = Node {
                part: part as u32,
                row: row as u32,
            };
            let others = by.iter().filter(|(_, memory)| *memory != Some(node));
            if let Some(rank) = others.map(|(rank, _)| *rank).min() {
                found.push((node, 1.0 / (1.0 + rank as f64)));
            }
        }
    }
    fill_sparse(parts, Signal::Title, found)
}
