//! Two hops from the best memories by L₁: what such a memory and another one with a common entity
//! hold of the query together.

use super::eligible_graph::EligibleGraph;
use super::metadata_signals::fill_documents;
use super::segment_columns::{SegmentColumns, TermStatistics};
use super::signal::Signal;
use crate::kernels::entity_walk::{Mentions, mentions_max};
use crate::kernels::lexical;
use crate::query::graph::Node;
use crate::segment::format::Section;

/// How many of the best memories by L₁ pairs are made with, and titles compared with.
pub(super) const STARTS: usize = 5;

/// By memory and term of the query idf · saturation; the memories' numbers ascend.
fn term_shares(
    parts: &[SegmentColumns<'_>],
    graph: &EligibleGraph<'_>,
    words: &TermStatistics,
    memories: &[u32],
) -> Vec<f64> {
    let terms = words.idfs.len();
    let mut shares = vec![0.0; memories.len() * terms];
    let nodes: Vec<Node> = memories.iter().map(|number| graph.node(*number)).collect();
    let mut shares_left = shares.as_mut_slice();
    for of_part in nodes.chunk_by(|one, next| one.part == next.part) {
        let part = of_part[0].part as usize;
        let segment = parts[part].segment;
        let lengths = segment.column::<u32>(Section::Lengths);
        let (own, left) = shares_left.split_at_mut(of_part.len() * terms);
        shares_left = left;
        for (term, (numbers, idf)) in words.numbers.iter().zip(&words.idfs).enumerate() {
            let Some(number) = numbers[part] else {
                continue;
            };
            let (mut rows, mut counts) = segment.postings(number as usize);
            for (node, shares) in of_part.iter().zip(own.chunks_exact_mut(terms)) {
                let before = lexical::rows_before(rows, node.row);
                (rows, counts) = (&rows[before..], &counts[before..]);
                if rows.first() == Some(&node.row) {
                    let norm = words.norms.of(lengths[node.row as usize]);
                    shares[term] = idf * lexical::saturation(lexical::frequency(counts[0]), norm);
                }
            }
        }
    }
    shares
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

/// Fills in `pair`: the most that a memory and one of the starts hold together. `share`: factor.
pub(super) fn fill(
    parts: &mut [SegmentColumns<'_>],
    graph: &mut EligibleGraph<'_>,
    words: &TermStatistics,
    starts: &[(Node, f64)],
    share: f64,
) {
    let (terms, total) = (words.idfs.len(), words.idfs.iter().sum::<f64>());
    let starts: Vec<u32> = starts
        .iter()
        .map(|(start, _)| graph.number(*start))
        .collect();
    let others: Vec<Vec<u32>> = (starts.iter().map(|start| co_mentioning(graph, *start))).collect();
    // Several of the best often have an entity in common.
    let mut all: Vec<u32> = others.concat();
    all.sort_unstable();
    all.dedup();
    let shares = term_shares(parts, graph, words, &all);
    let mut most = vec![0.0_f64; all.len()];
    for (start, others) in starts.iter().zip(&others) {
        let own = term_shares(parts, graph, words, &[*start]);
        let mut at = 0;
        for other in others {
            at += all[at..].partition_point(|number| number < other);
            let theirs = &shares[at * terms..(at + 1) * terms];
            let both = own.iter().zip(theirs).map(|(a, b)| a.max(*b));
            let pair = both.sum::<f64>() / total;
            most[at] = most[at].max(pair);
        }
    }
    let found = all.iter().zip(most);
    let found = found.map(|(number, pair)| (graph.node(*number), share * pair));
    fill_documents(parts, Signal::Pair, found.collect());
}
