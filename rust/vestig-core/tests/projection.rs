//! The projection as a whole: every layout, every effort and every rebuild give the same bits.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "common/random_rows.rs"]
mod random_rows;

use proptest::prelude::*;
use random_rows::{Rng, open};
use vestig_core::kernels::tracerank::TraceParams;
use vestig_core::query::filter::Filter;
use vestig_core::query::similar::{Limits, Probe, Wanted, similar};
use vestig_core::recall::{
    Base, BySignal, Effort, Pool, Query, QueryParts, Ranking, Selection, Signal, TopicPieces,
    Weights, recall,
};
use vestig_core::snapshot::merge::MergeGoal;
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::NewRow;
use vestig_core::words::{self, ContentTerm};

fn goal(max_segments: usize) -> MergeGoal {
    MergeGoal {
        max_segments,
        max_bytes: u64::MAX,
        wait: true,
    }
}

fn filter() -> Filter {
    Filter {
        namespace: "default".into(),
        known_at: i64::MAX - 1,
        ..Filter::default()
    }
}

/// How results are ranked, and which of them are wanted.
type Ranked = (Ranking, Selection);

fn ranking(base: Base, pool: Option<usize>, limit: usize, power: f64) -> Ranked {
    let weights = |bias: f64| Weights::of(bias, &[("topic", 2.0), ("words", 1.5)]);
    let mut event_weights = vec![0.0; 13];
    event_weights[2] = 1.0;
    event_weights[3] = 1.0;
    let ranking = Ranking {
        weights: [weights(0.1), weights(-0.3)],
        tracerank_power: power,
        ..Ranking::plain(base, TraceParams::new(event_weights))
    };
    let selection = Selection {
        pool: pool.map_or(Pool::All, Pool::Best),
        ..Selection::best(limit)
    };
    (ranking, selection)
}

fn effort(threads: usize, staged_rows: usize) -> Effort {
    Effort {
        threads,
        staged_rows,
        thread_rows: 7,
    }
}

/// Every number of a result, with all its bits.
fn bits(
    projection: &Projection,
    query: &Query,
    filter: &Filter,
    (ranking, selection): &Ranked,
    effort: Effort,
) -> String {
    let snapshot = projection.snapshot();
    let scan = recall(&snapshot, query, filter, ranking, selection, effort);
    format!("{scan:?}")
}

/// Rows in transactions; some replace an earlier version of a memory.
fn history(rng: &mut Rng, count: u64, dimensions: usize, coarse: bool) -> Vec<NewRow> {
    let mut rows: Vec<NewRow> = Vec::new();
    for i in 0..count {
        let seq = i as i64 + 1;
        if i > 3 && rng.below(5) == 0 {
            let mut changed = rows[rng.below(i) as usize].clone();
            changed.wseq = seq;
            changed.lists[0].push("changed".into());
            changed.status = [0, 1, 3][rng.below(3) as usize];
            rows.push(changed);
        } else {
            rows.push(rng.row(i, seq, dimensions, coarse));
        }
    }
    rows
}

fn queries(rng: &mut Rng, dimensions: usize, coarse: bool) -> Vec<Query> {
    let terms = |text: &str| Some(words::terms(text, None));
    let content = [("cache", false), ("night", rng.below(2) == 0)].map(|(term, in_time)| {
        let term = term.to_owned();
        let (start, end) = (0, term.len());
        ContentTerm {
            term,
            start,
            end,
            in_time,
        }
    });
    let content = content.to_vec();
    let parts = vec![
        QueryParts {
            vector: Some(rng.vector(dimensions, coarse)),
            terms: terms("cache the night"),
            content: content.clone(),
            topic: Some(TopicPieces {
                states: [(); 3].map(|()| rng.vector(dimensions, coarse)).concat(),
                terms: vec![vec![0], vec![], vec![1, 0]],
            }),
            names_text: Some("What did Anna cache the night before?".into()),
            dates: vec![
                (Some(0), Some(86_400_000_000), true),
                (None, Some(9_000), false),
            ],
            pieces: rng.query_pieces(),
            pieces_in_time: vec![0, 500],
            query_time: 10_000_000_000_000,
            ..QueryParts::default()
        },
        QueryParts {
            vector: Some(rng.vector(dimensions, coarse)),
            terms: None,
            query_time: 10_000_000_000_000,
            ..QueryParts::default()
        },
        QueryParts {
            vector: None,
            terms: terms("Paris deploy deploy v2.1"),
            query_time: 10_000_000_000_000,
            ..QueryParts::default()
        },
        QueryParts {
            vector: Some(vec![0.0; dimensions]),
            terms: terms("unheard"),
            query_time: 10_000_000_000_000,
            ..QueryParts::default()
        },
    ];
    parts.into_iter().map(Query::new).collect()
}

fn rankings() -> Vec<Ranked> {
    let mut odd = ranking(Base::Linear, Some(3), 9, 1.0);
    odd.0.weights[0].signals[Signal::Words] = 0.0;
    odd.0.weights[1].signals[Signal::Topic] = -1.0;
    // Every signal, with a walk and without.
    let mut all = ranking(Base::Linear, Some(12), 6, 0.5);
    let mut bounded = ranking(Base::Linear, Some(4), 5, 0.0);
    for (kind, weights) in all.0.weights.iter_mut().enumerate() {
        for signal in Signal::ALL {
            weights.signals[signal] = (signal as usize * 7 + kind) as f64 % 5.0 - 1.0;
        }
    }
    bounded.0.weights[1].signals = BySignal::of(0.7);
    vec![
        ranking(Base::Linear, Some(20), 7, 0.5),
        ranking(Base::Semantic, Some(5), 5, 1.0),
        ranking(Base::Cosine, None, 6, 0.0),
        ranking(Base::Linear, None, 8, 0.5),
        odd,
        all,
        bounded,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_and_effort_gives_the_same_bits(
        seed in any::<u64>(),
        count in 1_u64..160,
        dimensions in prop::sample::select(vec![3_usize, 64, 70]),
        coarse in any::<bool>(),
    ) {
        let mut rng = Rng(seed);
        let rows = history(&mut rng, count, dimensions, coarse);
        let queries = queries(&mut rng, dimensions, coarse);
        let folder = tempfile::tempdir().unwrap();
        let (plain, spread) = (open(None, dimensions), open(Some(folder.path()), dimensions));
        plain.apply(&rows, count, [1; 32]).unwrap();
        let mut done = 0;
        while done < rows.len() {
            let next = (done + 1 + rng.below(40) as usize).min(rows.len());
            spread.apply(&rows[done..next], next as u64, [1; 32]).unwrap();
            done = next;
            match rng.below(7) {
                0 => drop(spread.publish(true).unwrap()),
                1..=3 => drop(spread.publish(false).unwrap()),
                4 | 5 => drop(spread.merge(goal(1 + rng.below(3) as usize)).unwrap()),
                _ => {}
            }
        }
        prop_assert_eq!(plain.snapshot().ids(false), spread.snapshot().ids(false));
        let similar_filter = Filter { min_similarity: Some(0.25), ..filter() };
        for query in &queries {
            for ranking in rankings() {
                for filter in [filter(), similar_filter.clone()] {
                    let exact = bits(&plain, query, &filter, &ranking, effort(1, usize::MAX));
                    for (projection, effort) in [
                        (&plain, effort(1, 0)),
                        (&plain, effort(8, 0)),
                        (&spread, effort(1, usize::MAX)),
                        (&spread, effort(3, 0)),
                    ] {
                        let found = bits(projection, query, &filter, &ranking, effort);
                        prop_assert_eq!(&exact, &found);
                    }
                }
            }
        }
        let before = bits(&spread, &queries[0], &filter(), &rankings()[0], effort(1, 0));
        spread.publish(true).unwrap();
        let again = open(Some(folder.path()), dimensions);
        prop_assert_eq!(again.discarded(), None);
        prop_assert_eq!(again.snapshot().applied_seq, count);
        prop_assert_eq!(again.snapshot().tail_rows(), 0);
        prop_assert!(again.verify().is_empty());
        let after = bits(&again, &queries[0], &filter(), &rankings()[0], effort(1, 0));
        prop_assert_eq!(before, after);
    }

    #[test]
    fn similar_finds_what_a_full_comparison_finds(
        seed in any::<u64>(),
        count in 1_u64..700,
    ) {
        let mut rng = Rng(seed);
        let rows = history(&mut rng, count, 6, true);
        let projection = open(None, 6);
        projection.apply(&rows, count, [0; 32]).unwrap();
        let exclude = vec![rows[0].id];
        let mut unrelated: Vec<_> = rows.iter().step_by(3).map(|row| row.id).collect();
        unrelated.sort_unstable();
        let probe = Probe {
            vector: rng.vector(6, true),
            scope: Some("work".into()),
            author: None,
            exclude: exclude.clone(),
            unrelated: unrelated.clone(),
        };
        let near = Limits { threshold: 0.5, top: 7 };
        let related = Limits { threshold: 0.3, top: 11 };
        let snapshot = projection.snapshot();
        let known = Limits { threshold: 0.2, top: 5 };
        let wanted = Wanted { near, related, known };
        let one = std::slice::from_ref(&probe);
        let found = similar(&snapshot, "default", one, wanted, None, 1);
        let mut ranked = Vec::new();
        for id in snapshot.ids(false) {
            let row = rows.iter().rev().find(|row| row.id == id).unwrap();
            let (Some(vector), 0) = (&row.embedding, row.kind) else { continue };
            let (mut x, mut y) = ([0.0; 64], [0.0; 64]);
            vestig_core::kernels::dot::unit(&probe.vector, &mut x);
            vestig_core::kernels::dot::unit(vector, &mut y);
            let cosine = vestig_core::kernels::dot::dot(&x, &y);
            if row.namespace == "default" {
                ranked.push((row, cosine));
            }
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.id.cmp(&b.0.id)));
        let ids = |passes: &dyn Fn(&NewRow, f32) -> bool, top| -> Vec<_> {
            let kept = ranked.iter().filter(|(row, cosine)| passes(row, *cosine));
            kept.map(|(row, _)| row.id).take(top).collect()
        };
        let near_ids = ids(&|row, cosine| {
            let place = row.scope.as_deref() == Some("work") && row.author.is_none();
            cosine >= 0.5 && place && [0, 3].contains(&row.status) && !exclude.contains(&row.id)
        }, 7);
        let related_ids = ids(&|row, cosine| {
            cosine >= 0.3_f32 && row.status == 0 && !unrelated.contains(&row.id)
        }, 11);
        let known_ids = ids(&|row, cosine| {
            let place = row.scope.as_deref() == Some("work") && [0, 3].contains(&row.status);
            let excluded = exclude.contains(&row.id) || unrelated.contains(&row.id);
            cosine >= 0.2_f32 && place && !excluded
        }, 5);
        let only_ids = |list: &[([u8; 16], f64)]| list.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        prop_assert_eq!(only_ids(&found[0].near), near_ids);
        prop_assert_eq!(only_ids(&found[0].related), related_ids);
        prop_assert_eq!(only_ids(&found[0].known), known_ids);
        let twice = similar(&snapshot, "default", &[probe.clone(), probe], wanted, None, 2);
        prop_assert_eq!(&twice[0], &found[0]);
        prop_assert_eq!(&twice[1], &found[0]);
    }
}
