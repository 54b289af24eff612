//! Several queries over one snapshot: the best memories of each, and S of all of them under every
//! query.

use super::analysed_query::Query;
use super::candidates::Candidate;
use super::ranking::{Effort, Pool, Ranking, Selection};
use super::row_groups::RowGroups;
use super::{QueryVector, Request, ScoredQuery};
use crate::kernels::bits::has;
use crate::query::filter::Filter;
use crate::segment::Id;
use crate::snapshot::Snapshot;

/// Rows times queries up to which the numbers of all rows are kept until the memories are known;
/// beyond, they are computed a second time.
const KEPT_NUMBERS: usize = 500_000;

/// What is asked of several queries at once.
#[derive(Debug, Clone, Copy)]
pub struct LevelsRequest<'a> {
    /// Which memories take part.
    pub filter: &'a Filter,
    /// How S is made; its walk and TraceRank have no part in it.
    pub ranking: &'a Ranking,
    /// Of each query, how many of its best memories are wanted.
    pub limits: &'a [usize],
    /// Memories whose S is wanted too.
    pub watch: &'a [Id],
}

/// S of memories under several queries.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    /// The best memories of any query and the watched ones that are eligible, ascending.
    pub ids: Vec<Id>,
    /// Of each query, the places in `ids` of its best memories, best first.
    pub best: Vec<Vec<usize>>,
    /// Of each query and memory S; None = it is not eligible for this query.
    pub scores: Vec<Vec<Option<f64>>>,
    /// Of each memory the largest cosine to a query that it is eligible for.
    pub cosines: Vec<Option<f64>>,
}

/// The best memories of each query by S, and S of these and of others under every query.
#[must_use]
pub fn levels(
    snapshot: &Snapshot,
    queries: &[Query],
    request: LevelsRequest<'_>,
    effort: Effort,
) -> Levels {
    let vectors: Vec<QueryVector> = queries
        .iter()
        .map(|query| QueryVector::new(query, snapshot))
        .collect();
    let one = Effort {
        threads: 1,
        ..effort
    };
    let selections: Vec<Selection> = request
        .limits
        .iter()
        .map(|limit| Selection {
            pool: Pool::Best(*limit),
            ..Selection::best(*limit)
        })
        .collect();
    let single = Selection {
        pool: Pool::Best(1),
        ..Selection::best(1)
    };
    let score = |at: usize, selection| {
        let of_query = Request {
            snapshot,
            filter: request.filter,
            ranking: request.ranking,
            selection,
            effort: one,
        };
        ScoredQuery::new(of_query, (&queries[at], &vectors[at]), None)
    };
    let keep = snapshot.rows().saturating_mul(queries.len()) <= KEPT_NUMBERS;
    let limits = request.limits.to_vec();
    let first = in_threads(limits, effort.threads, |at, limit| {
        let scored = score(at, &selections[at]);
        let mut best = scored.best;
        best.truncate(limit);
        let best: Vec<Id> = best.iter().map(|candidate| candidate.id).collect();
        (best, keep.then_some(scored.groups))
    });
    let (found, numbers): (Vec<Vec<Id>>, Vec<_>) = first.into_iter().unzip();
    let mut ids: Vec<Id> = request.watch.to_vec();
    ids.extend(found.iter().flatten());
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|id| snapshot.find(id).is_some());
    let scores = in_threads(numbers, effort.threads, |at, kept| {
        let groups = kept.unwrap_or_else(|| score(at, &single).groups);
        scores_of(&groups, &ids)
    });
    let place = |id: &Id| ids.binary_search(id).ok();
    let best = found
        .iter()
        .map(|best| best.iter().filter_map(place).collect())
        .collect();
    let largest = |at: usize| {
        let of_queries = scores.iter().filter_map(|row| row[at]);
        of_queries.map(|(_, cosine)| cosine).reduce(f64::max)
    };
    Levels {
        best,
        cosines: (0..ids.len()).map(largest).collect(),
        scores: scores
            .iter()
            .map(|row| row.iter().map(|pair| pair.map(|(s, _)| s)).collect())
            .collect(),
        ids,
    }
}

/// S and cosine of each of these memories, which are distinct; None = not eligible.
fn scores_of(groups: &RowGroups<'_>, ids: &[Id]) -> Vec<Option<(f64, f64)>> {
    let place = |id: &Id| {
        (0..groups.parts()).find_map(|part| {
            let row = groups.segment(part).find(id)?;
            has(&groups.columns(part, row).eligible, row).then_some((part, row))
        })
    };
    let places: Vec<Option<(usize, usize)>> = ids.iter().map(place).collect();
    for group in groups.all() {
        let own = places.iter().copied().flatten();
        let own = own.filter(|(part, row)| has(&group.table.parts[*part].eligible, *row));
        group.table.prepare(own);
    }
    let scored = places.into_iter().map(|place| {
        let (part, row) = place?;
        let candidate = Candidate::of(groups.of(part, row), part, row);
        Some((candidate.start, candidate.cosine))
    });
    scored.collect()
}

/// What becomes of each item at its place, in order, made by so many threads.
fn in_threads<I: Send, T: Send>(
    items: Vec<I>,
    threads: usize,
    work: impl Fn(usize, I) -> T + Sync,
) -> Vec<T> {
    let share = items.len().div_ceil(threads.max(1)).max(1);
    let mut items: Vec<(usize, I)> = items.into_iter().enumerate().collect();
    if share >= items.len() {
        return items.into_iter().map(|(at, item)| work(at, item)).collect();
    }
    let mut shares = Vec::new();
    while !items.is_empty() {
        let rest = items.split_off(share.min(items.len()));
        shares.push(std::mem::replace(&mut items, rest));
    }
    std::thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = shares
            .into_iter()
            .map(|share| {
                let each = move || share.into_iter().map(|(at, item)| work(at, item)).collect();
                scope.spawn(each)
            })
            .collect();
        let made = started.into_iter().map(|thread| {
            let made: Vec<T> = thread.join().unwrap_or_else(|panic| {
                std::panic::resume_unwind(panic);
            });
            made
        });
        made.flatten().collect()
    })
}
