//! Memories whose title is a name that the query or one of the best memories by L₁ mentions.

use std::collections::HashMap;

use super::analysed_query::Query;
use super::eligible_graph::EligibleGraph;
use super::metadata_signals::fill_documents;
use super::segment_columns::SegmentColumns;
use super::signal::Signal;
use crate::kernels::bits::set_bits;
use crate::query::graph::Node;
use crate::segment::NO_STRING;
use crate::segment::format::Section;

/// Who mentions a name: rank and memory; no memory = the query.
type Mentioned = Vec<(usize, Option<Node>)>;

/// The normal forms of the names that the query and the best memories mention.
fn mentioned(
    graph: &EligibleGraph<'_>,
    query: &Query,
    starts: &[(Node, f64)],
) -> HashMap<String, Mentioned> {
    let mut found: HashMap<String, Mentioned> = HashMap::new();
    let mut add = |entity: Node, by: (usize, Option<Node>)| {
        if let Some(name) = graph.normal_name(entity) {
            found.entry(name.into()).or_default().push(by);
        }
    };
    for entity in query.entities.iter().filter_map(|(id, _)| graph.locate(id)) {
        add(entity, (0, None));
    }
    for (rank, (start, _)) in starts.iter().enumerate() {
        for entity in graph.entities_of(*start) {
            add(entity, (rank, Some(*start)));
        }
    }
    found
}

/// Fills in `title`. `share`: factor.
pub(super) fn fill(
    parts: &mut [SegmentColumns<'_>],
    graph: &EligibleGraph<'_>,
    query: &Query,
    starts: &[(Node, f64)],
    share: f64,
) {
    let names = mentioned(graph, query, starts);
    let mut found = Vec::new();
    for (part, columns) in parts
        .iter()
        .enumerate()
        .filter(|(_, columns)| columns.any_eligible)
    {
        let segment = columns.segment;
        let numbers: HashMap<u32, &Mentioned> = names
            .iter()
            .filter_map(|(name, by)| Some((segment.string_number(name)?, by)))
            .collect();
        if numbers.is_empty() {
            continue;
        }
        let titles = segment.column::<u32>(Section::Titles);
        for row in set_bits(&columns.eligible).filter(|row| titles[*row] != NO_STRING) {
            let Some(by) = numbers.get(&titles[row]) else {
                continue;
            };
            let node = Node {
                part: part as u32,
                row: row as u32,
            };
            // A memory that mentions its own title says nothing of itself.
            let others = by.iter().filter(|(_, memory)| *memory != Some(node));
            if let Some(rank) = others.map(|(rank, _)| *rank).min() {
                found.push((node, share / (1.0 + rank as f64)));
            }
        }
    }
    fill_documents(parts, Signal::Title, found);
}
