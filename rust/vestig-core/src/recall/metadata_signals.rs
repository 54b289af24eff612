//! The metadata signals and the entity walk, filled in only when they can change a score.

use super::DOCUMENT;
use super::analysed_query::Query;
use super::eligible_graph::EligibleGraph;
use super::ranking::Ranking;
use super::segment_columns::SegmentColumns;
use super::signal::Signal;
use crate::kernels::bits::{has, set_bits};
use crate::kernels::entity_walk;
use crate::kernels::temporal::{Window, temporal_match};
use crate::kernels::{lexical, metadata};
use crate::query::graph::Node;
use crate::segment::format::Section;
use crate::segment::{NO_TIME, OPEN_START, Segment};

/// Places of a table in which the last bits of a number are looked up.
const TABLE_PLACES: usize = 1024;

/// Places of the metadata signals among `METADATA`.
const KEYWORD: usize = 0;
const TEMPORAL: usize = 1;
const ENTITY: usize = 2;
const RECENCY: usize = 3;

/// Fills in those of the metadata signals that have a part in S.
pub(super) fn fill(
    parts: &mut [SegmentColumns<'_>],
    graph: &EligibleGraph<'_>,
    query: &Query,
    (ranking, used): (&Ranking, [bool; 4]),
    eligible: usize,
) {
    if used[KEYWORD] {
        keyword(parts, &query.keywords, ranking.keyword_weighted, eligible);
    }
    if used[TEMPORAL] {
        temporal(parts, query, ranking);
    }
    if used[ENTITY] {
        entity(parts, graph, query, ranking.entity_weighted);
    }
    if used[RECENCY] {
        recency(parts, query, ranking);
    }
}

/// Fills a column of every part.
///
/// `values`: by row, 0 for rows that are not eligible.
fn fill_column(
    parts: &mut [SegmentColumns<'_>],
    place: usize,
    values: impl Fn(usize, &SegmentColumns<'_>) -> Vec<f64>,
) {
    let parts = parts.iter_mut().enumerate();
    for (i, columns) in parts.filter(|(_, columns)| columns.any_eligible) {
        columns.metadata[place] = values(i, columns);
    }
}

/// A value of every eligible row.
fn by_row(columns: &SegmentColumns<'_>, value: impl Fn(&Segment, usize) -> f64) -> Vec<f64> {
    let mut values = vec![0.0; columns.segment.memory_rows()];
    for row in set_bits(&columns.eligible) {
        values[row] = value(columns.segment, row);
    }
    values
}

/// Which of the query's keywords the eligible rows of a part hold: (row, place in the query),
/// ascending, each once.
fn held_keywords(columns: &SegmentColumns<'_>, keywords: &[String]) -> Vec<(usize, usize)> {
    let segment = columns.segment;
    let numbers = keywords.iter().map(|word| segment.string_number(word));
    let wanted: Vec<(u32, usize)> = numbers
        .enumerate()
        .filter_map(|(at, number)| Some((number?, at)))
        .collect();
    // Nearly every keyword of a row is known as none of the wanted ones by its last bits.
    let mut near = [false; TABLE_PLACES];
    for (number, _) in &wanted {
        near[*number as usize % TABLE_PLACES] = true;
    }
    let offsets = &segment.column::<u32>(Section::KeywordOffsets)[..=segment.memory_rows()];
    let all = &segment.column::<u32>(Section::Keywords)[..offsets[segment.memory_rows()] as usize];
    let mut held = Vec::new();
    let mut row = 0;
    for (block, own) in all.chunks(64).enumerate() {
        // Bits instead of branches: which keywords are near is hard to foresee.
        let hits = own.iter().enumerate().fold(0_u64, |hits, (i, number)| {
            hits | u64::from(near[*number as usize % TABLE_PLACES]) << i
        });
        for i in set_bits(&[hits]) {
            while offsets[row + 1] as usize <= block * 64 + i {
                row += 1;
            }
            let same = wanted.iter().filter(|(number, _)| *number == own[i]);
            held.extend(same.map(|(_, at)| (row, *at)));
        }
    }
    held.retain(|(row, _)| has(&columns.eligible, *row));
    held.sort_unstable();
    held.dedup();
    held
}

/// Shared with the query's keywords (distinct, in their order).
fn keyword(parts: &mut [SegmentColumns<'_>], keywords: &[String], weighted: bool, eligible: usize) {
    let held: Vec<Vec<(usize, usize)>> = parts
        .iter()
        .map(|columns| held_keywords(columns, keywords))
        .collect();
    let mut counts = vec![0_u64; keywords.len()];
    for (_, at) in held.iter().flatten() {
        counts[*at] += 1;
    }
    let of = |count| lexical::idf(eligible as u64, count);
    let idfs: Vec<f64> = counts.into_iter().map(of).collect();
    fill_column(parts, KEYWORD, |part, columns| {
        let mut values = vec![0.0; columns.segment.memory_rows()];
        for of_row in held[part].chunk_by(|one, next| one.0 == next.0) {
            let row = of_row[0].0;
            values[row] = if weighted {
                metadata::weighted(&idfs, |at| of_row.contains(&(row, at)))
            } else {
                let list = columns.segment.keywords(row);
                metadata::jaccard(of_row.len(), keywords.len(), list.len())
            };
        }
        values
    });
}

/// Match of the query's time windows with `t_valid` and the times in the text.
fn temporal(parts: &mut [SegmentColumns<'_>], query: &Query, ranking: &Ranking) {
    let open = |time: i64, none: i64| (time != none).then_some(time);
    fill_column(parts, TEMPORAL, |_, columns| {
        by_row(columns, |segment, row| {
            let dated = !segment.attributes(row).undated;
            let at = dated.then(|| segment.column::<i64>(Section::Valid)[row]);
            let windows: Vec<Window> = segment
                .windows(row)
                .map(|(start, end)| (open(start, OPEN_START), open(end, NO_TIME)))
                .collect();
            temporal_match(
                at.as_slice(),
                &windows,
                &query.windows,
                ranking.open_scale_days,
            )
            .unwrap_or(0.0)
        })
    });
}

fn recency(parts: &mut [SegmentColumns<'_>], query: &Query, ranking: &Ranking) {
    let (now, tau) = (query.query_time, ranking.recency_tau_days);
    fill_column(parts, RECENCY, |_, columns| {
        by_row(columns, |segment, row| {
            metadata::recency(segment.column::<i64>(Section::Valid)[row], now, tau)
        })
    });
}

/// Values of a signal that only documents have.
pub(super) fn fill_documents(
    parts: &mut [SegmentColumns<'_>],
    signal: Signal,
    mut found: Vec<(Node, f64)>,
) {
    found.retain(|(node, _)| {
        let segment = parts[node.part as usize].segment;
        segment.attributes(node.row as usize).origin == DOCUMENT
    });
    fill_sparse(parts, signal, found);
}

/// Values of a sparse signal, which few rows have.
pub(super) fn fill_sparse(
    parts: &mut [SegmentColumns<'_>],
    signal: Signal,
    found: Vec<(Node, f64)>,
) {
    let Some(place) = signal.sparse_place() else {
        unreachable!("{} is a value of every memory", signal.name());
    };
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); parts.len()];
    for (node, value) in found {
        rows[node.part as usize].push((node.row, value));
    }
    for (columns, rows) in parts.iter_mut().zip(rows) {
        columns.set_sparse(rows, |sparse, value| sparse.values[place] = value);
    }
}

/// Entities of the query that the memories mention; the sum goes in the order of the query.
fn entity(
    parts: &mut [SegmentColumns<'_>],
    graph: &EligibleGraph<'_>,
    query: &Query,
    weighted: bool,
) {
    let mut found: Vec<(Node, f64)> = Vec::new();
    for (id, score) in &query.entities {
        let Some(entity) = graph.locate(id).filter(|node| graph.is_entity(*node)) else {
            continue;
        };
        let mut last = None;
        graph.each_mention(entity, |memory, confidence| {
            let value = if weighted { score * confidence } else { 1.0 };
            match found.last_mut() {
                Some((_, most)) if last == Some(memory) => *most = most.max(value),
                _ => found.push((memory, value)),
            }
            last = Some(memory);
        });
    }
    // Stable: the values of a memory stay in the order of the query.
    found.sort_by_key(|(node, _)| *node);
    let mut sums: Vec<(Node, f64)> = Vec::new();
    for (node, value) in found {
        match sums.last_mut() {
            Some((last, sum)) if *last == node => *sum += value,
            _ => sums.push((node, value)),
        }
    }
    let of = query.entities.len() as f64;
    fill_column(parts, ENTITY, |part, columns| {
        let mut values = vec![0.0; columns.segment.memory_rows()];
        for (node, sum) in sums.iter().filter(|(node, _)| node.part as usize == part) {
            values[node.row as usize] = sum / of;
        }
        values
    });
}

/// The entity walk from the best memories by L₁ and the query's entities. `share`: factor.
pub(super) fn walk_entities(
    parts: &mut [SegmentColumns<'_>],
    graph: &mut EligibleGraph<'_>,
    query: &Query,
    best: &[(Node, f64)],
    share: f64,
) {
    let starts: Vec<(u32, f64)> = best
        .iter()
        .map(|(node, level)| (graph.number(*node), *level))
        .collect();
    let entities: Vec<u32> = query
        .entities
        .iter()
        .filter_map(|(id, _)| graph.locate(id).filter(|node| graph.is_entity(*node)))
        .map(|node| graph.number(node))
        .collect();
    let ranks = graph.entity_walk(&starts, &entities);
    let found = ranks.memories.iter().map(|(memory, rank)| {
        let value = share * entity_walk::signal(*rank, ranks.most);
        (graph.node(*memory), value)
    });
    fill_documents(parts, Signal::EntityWalk, found.collect());
}
