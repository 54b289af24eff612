//! Several queries over one snapshot: the best memories of each, and S of all of them under every
//! query.

use std::sync::{Mutex, PoisonError};

use super::analysed_query::Query;
use super::candidates::Candidate;
use super::ranking::{Effort, Pool, Ranking, Selection};
use super::score_table::ScoreTable;
use super::{QueryVector, Request, ScoredQuery, eligible_parts};
use crate::kernels::bits::has;
use crate::query::filter::Filter;
use crate::segment::Id;
use crate::snapshot::Snapshot;

/// Rows times queries up to which the numbers of all rows are kept until the memories are known;
/// beyond, they are computed a second time.
const KEPT_NUMBERS: usize = 500_000;

/// A request for several queries at once.
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
    let of_queries = Request {
        snapshot,
        filter: request.filter,
        ranking: request.ranking,
        selection: &single,
        effort: one,
    };
    let (parts, _) = eligible_parts(snapshot, request.filter);
    let vectors: Vec<QueryVector> = queries
        .iter()
        .map(|query| QueryVector::new(&of_queries, query, &parts))
        .collect();
    let score = |at: usize, selection| {
        let of_query = Request {
            selection,
            ..of_queries
        };
        let parts = eligible_parts(snapshot, request.filter);
        ScoredQuery::new(of_query, (&queries[at], &vectors[at]), parts, None)
    };
    let keep = snapshot.rows().saturating_mul(queries.len()) <= KEPT_NUMBERS;
    let limits = request.limits.to_vec();
    let first = in_threads(limits, effort.threads, |at, limit| {
        let scored = score(at, &selections[at]);
        let mut best = scored.best;
        best.truncate(limit);
        let best: Vec<Id> = best.iter().map(|candidate| candidate.id).collect();
        (best, keep.then_some(scored.table))
    });
    let (found, numbers): (Vec<Vec<Id>>, Vec<_>) = first.into_iter().unzip();
    let mut ids: Vec<Id> = request.watch.to_vec();
    ids.extend(found.iter().flatten());
    ids.sort_unstable();
    ids.dedup();
    let placed = ids
        .into_iter()
        .filter_map(|id| Some((id, snapshot.place(&id)?)));
    let (ids, places): (Vec<Id>, Vec<Place>) = placed.unzip();
    let scores = in_threads(numbers, effort.threads, |at, kept| {
        let table = kept.unwrap_or_else(|| score(at, &single).table);
        scores_of(&table, &places)
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

/// A part and a row of it.
type Place = (usize, usize);

/// S and cosine of each of these memories; None = not eligible.
fn scores_of(table: &ScoreTable<'_>, places: &[Place]) -> Vec<Option<(f64, f64)>> {
    let scored = places.iter().map(|(part, row)| {
        let (part, row) = (*part, *row);
        has(&table.parts[part].eligible, row).then(|| {
            let candidate = Candidate::of(table, part, row);
            let segment = table.parts[part].segment;
            (candidate.start, table.scorer.similarity(segment, row))
        })
    });
    scored.collect()
}

/// Returns what becomes of each item at its place, in order, made by so many threads, this one
/// among them: each takes the next item, for some take longer than others.
fn in_threads<I: Send, T: Send>(
    items: Vec<I>,
    threads: usize,
    work: impl Fn(usize, I) -> T + Sync,
) -> Vec<T> {
    let others = threads.min(items.len()).saturating_sub(1);
    let left = Mutex::new(items.into_iter().enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let each = || -> Vec<(usize, T)> {
        std::iter::from_fn(next)
            .map(|(at, item)| (at, work(at, item)))
            .collect()
    };
    let mut made = std::thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(each)).collect();
        let mut made = each();
        for other in others {
            match other.join() {
                Ok(own) => made.extend(own),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        made
    });
    made.sort_unstable_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::in_threads;

    #[test]
    fn results_stand_in_the_order_of_the_items_whoever_made_them() {
        for threads in [0, 1, 2, 3, 8] {
            for count in [0, 1, 2, 7, 40] {
                let items: Vec<usize> = (0..count).collect();
                let made = in_threads(items, threads, |at, item| (at, item * item));
                let wanted: Vec<_> = (0..count).map(|at| (at, at * at)).collect();
                assert_eq!(made, wanted);
            }
        }
    }

    #[test]
    #[should_panic(expected = "an item that fails")]
    fn a_panic_of_another_thread_is_that_of_the_caller() {
        in_threads(vec![0, 1, 2, 3], 2, |_, item| {
            assert!(item != 3, "an item that fails");
            std::thread::sleep(std::time::Duration::from_millis(2));
        });
    }
}
