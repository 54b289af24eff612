//! Two hops from the best memories by L₁: what such a memory and another one with a common entity
//! hold of the query together.

use std::collections::HashMap;

use super::eligible_graph::EligibleGraph;
use super::metadata_signals::fill_sparse;
use super::segment_columns::{SegmentColumns, TermStatistics};
use super::signal::Signal;
use crate::kernels::entity_walk::{Mentions, mentions_max};
use crate::kernels::lexical;
use crate::query::graph::Node;
use crate::segment::format::Section;

/// How many of the best memories by L₁ pairs are made with, and titles compared with.
pub(super) const STARTS: usize = 5;

/// idf · saturation of every term of the query in a memory.
fn term_shares(parts: &[SegmentColumns<'_>], words: &TermStatistics, node: Node) -> Vec<f64> {
    let part = node.part as usize;
    let segment = parts[part].segment;
    let length = segment.column::<u32>(Section::Lengths)[node.row as usize];
    let norm = words.norms.of(length);
    let of = |(numbers, idf): (&Vec<Option<u32>>, &f64)| {
        let (rows, counts) = segment.postings(numbers[part]? as usize);
        let at = rows.binary_search(&node.row).ok()?;
        Some(idf * lexical::saturation(lexical::frequency(counts[at]), norm))
    };
    let terms = words.numbers.iter().zip(&words.idfs);
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
    words: &TermStatistics,
    starts: &[(Node, f64)],
) -> [f64; 2] {
    let total: f64 = words.idfs.iter().sum();
    let mut found: HashMap<u32, [f64; 2]> = HashMap::new();
    for (start, _) in starts {
        let own = term_shares(parts, words, *start);
        let alone = own.iter().sum::<f64>() / total;
        for other in co_mentioning(graph, graph.number(*start)) {
            let theirs = term_shares(parts, words, graph.node(other));
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
