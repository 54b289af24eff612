//! Times of recall on this machine: `cargo run --release --example recall -- 10000`.
//! Linear base, pool 50, limit 10, d = 384, 24 words a memory, 11 words a query, one thread. The
//! memories are those of a chat of two: sessions of 20.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod rng;

use std::time::Instant;

use rng::Rng;
use vestig_core::kernels::dot::{dot_rows, unit};
use vestig_core::kernels::tracerank::TraceParams;
use vestig_core::query::filter::Filter;
use vestig_core::recall::{
    Base, Effort, Pool, Query, QueryParts, Ranking, Selection, Weights, recall,
};
use vestig_core::segment::format::Identity;
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::NewRow;

const D: usize = 384;
/// Signals of what is said, beside the vector.
const CHAT: [(&str, f64); 6] = [
    ("words", 7.0),
    ("words_window", 13.0),
    ("date", 5.0),
    ("question", -7.0),
    ("reply", 10.0),
    ("person", 0.6),
];

impl Rng {
    fn vector(&mut self) -> Vec<f32> {
        (0..D)
            .map(|_| ((0..4).map(|_| self.unit()).sum::<f64>() - 2.0) as f32)
            .collect()
    }

    /// Words as frequent as in texts: the r-th about 1/r times the first.
    fn text(&mut self, words: usize) -> String {
        let word = |rng: &mut Self| format!("w{} ", letters(5000_f64.powf(rng.unit()) as u32));
        (0..words).map(|_| word(self)).collect()
    }
}

fn letters(mut n: u32) -> String {
    let mut out = String::new();
    while n > 0 {
        out.push(char::from(b'a' + (n % 26) as u8));
        n /= 26;
    }
    out
}

fn main() {
    let count: usize = std::env::args()
        .nth(1)
        .map_or(10_000, |n| n.parse().unwrap());
    let mut rng = Rng(1);
    let identity = Identity {
        store_uuid: [1; 16],
        dimensions: D as u32,
        model: "m".into(),
        analyser: "a".into(),
    };
    let projection = Projection::open(None, identity, false).unwrap();
    let row = |rng: &mut Rng, n: usize| NewRow {
        id: (n as u128).to_be_bytes(),
        seq: n as i64,
        wseq: n as i64,
        content: rng.text(24),
        namespace: "default".into(),
        embedding: Some(rng.vector()),
        author: Some(["Anna", "Bob"][n % 2].into()),
        session: Some(format!("session {}", n / 20)),
        sequence: Some((n % 20) as i64),
        t_valid: n as i64 * 60_000_000,
        features: (rng.unit() * 65_536.0) as u32,
        ..NewRow::default()
    };
    let rows: Vec<NewRow> = (0..count).map(|n| row(&mut rng, n)).collect();
    let start = Instant::now();
    projection.apply(&rows, count as u64, [0; 32]).unwrap();
    println!("apply {:.3} s", start.elapsed().as_secs_f64());
    let filter = Filter {
        namespace: "default".into(),
        ..Filter::default()
    };
    let ranking = Ranking {
        weights: [Weights::of(-1.0, &[("topic", 2.0), ("words", 3.0)]); 2],
        tracerank_power: 0.5,
        ..Ranking::plain(Base::Linear, TraceParams::new(vec![0.0; 13]))
    };
    let selection = Selection {
        pool: Pool::Best(50),
        ..Selection::best(10)
    };
    let signals = Ranking {
        weights: [Weights::of(-1.0, &CHAT); 2],
        ..ranking.clone()
    };
    let snapshot = projection.snapshot();
    let queries: Vec<Query> = (0..40)
        .map(|_| QueryParts {
            vector: Some(rng.vector()),
            terms: Some(vestig_core::words::terms(&rng.text(11), None)),
            names_text: Some("when did Anna go there?".into()),
            ..QueryParts::default()
        })
        .map(Query::new)
        .collect();
    let time = |name: &str, run: &dyn Fn(&Query)| {
        let mut times: Vec<f64> = Vec::new();
        for query in queries.iter().cycle().take(400.min(4_000_000 / count)) {
            let start = Instant::now();
            run(query);
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{name:>22}: median {:.4} ms, best {:.4} ms",
            times[times.len() / 2],
            times[0]
        );
    };
    let mut firsts: Vec<f64> = Vec::new();
    for n in count..count + 24 {
        projection
            .apply(&[row(&mut rng, n)], n as u64 + 1, [0; 32])
            .unwrap();
        let snapshot = projection.snapshot();
        let query = &queries[n % queries.len()];
        let start = Instant::now();
        drop(recall(
            &snapshot,
            query,
            &filter,
            &signals,
            &selection,
            Effort::threads(1),
        ));
        firsts.push(start.elapsed().as_secs_f64() * 1e3);
    }
    firsts.sort_by(f64::total_cmp);
    println!(
        "signals, first after one more row: median {:.4} ms, best {:.4} ms",
        firsts[firsts.len() / 2],
        firsts[0]
    );
    for (name, staged_rows) in [("bounds", 0), ("exact", usize::MAX)] {
        let effort = Effort {
            staged_rows,
            ..Effort::threads(1)
        };
        time(name, &|query| {
            drop(recall(
                &snapshot, query, &filter, &ranking, &selection, effort,
            ))
        });
        time(&format!("{name}, no text"), &|query| {
            let query = Query::new(QueryParts {
                terms: None,
                ..(**query).clone()
            });
            drop(recall(
                &snapshot, &query, &filter, &ranking, &selection, effort,
            ));
        });
        let start = Instant::now();
        drop(recall(
            &snapshot,
            &queries[0],
            &filter,
            &signals,
            &selection,
            effort,
        ));
        let first = start.elapsed().as_secs_f64() * 1e3;
        println!("{name}, signals, first: {first:.4} ms");
        time(&format!("{name}, signals"), &|query| {
            drop(recall(
                &snapshot, query, &filter, &signals, &selection, effort,
            ))
        });
    }
    let vectors: Vec<f32> = snapshot
        .parts
        .iter()
        .flat_map(|p| {
            p.segment
                .column::<f32>(vestig_core::segment::format::Section::Vectors)
        })
        .copied()
        .collect();
    time("dot_rows alone", &|query| {
        let mut x = vec![0.0; D];
        unit(query.vector.as_deref().unwrap(), &mut x);
        let mut out = vec![0.0; count];
        dot_rows(&x, &vectors, D, &mut out);
    });
}
