//! Times of the walks: `cargo run --release --example walk -- 100000 1000`, memories and walks.
//! 10 RELATED and 3 MENTIONS a memory, one thread; entities as frequent as names in texts.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use vestig_core::kernels::tracerank::TraceParams;
use vestig_core::query::filter::Filter;
use vestig_core::recall::{Traversal, Walks};
use vestig_core::segment::format::Identity;
use vestig_core::segment::{EdgeVersion, Id, KIND_ENTITY, NO_TIME};
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::NewRow;

const STARTS: usize = 5;

/// Numbers to measure with: a fixed linear congruence.
struct Rng(u64);

impl Rng {
    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// As long as those that are derived from a query.
    fn seed(&mut self) -> u64 {
        (self.unit() * (1_u64 << 53) as f64) as u64
    }

    /// The r-th of n about 1/r times as often as the first.
    fn frequent(&mut self, n: usize) -> usize {
        ((n as f64).powf(self.unit()) as usize).min(n - 1)
    }
}

fn id(kind: u128, n: usize) -> Id {
    ((n as u128).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835) ^ kind << 100)
        .to_be_bytes()
}

fn edge(number: usize, end: Id, kind: u8, weight: f64) -> EdgeVersion {
    EdgeVersion {
        id: id(3, number),
        end,
        kind,
        weight,
        confidence: Some(weight),
        created: 0,
        expired: NO_TIME,
    }
}

fn rows(rng: &mut Rng, count: usize, entities: usize) -> Vec<NewRow> {
    let mut rows: Vec<NewRow> = (0..count)
        .map(|n| {
            let mut edges: Vec<EdgeVersion> = (0..10)
                .map(|i| {
                    let weight = 0.6 + 0.4 * rng.unit();
                    edge(13 * n + i, id(1, rng.below(count)), 1, weight)
                })
                .collect();
            let named = (10..13).map(|i| edge(13 * n + i, id(2, rng.frequent(entities)), 0, 1.0));
            edges.extend(named.map(|edge| EdgeVersion {
                confidence: Some(0.9),
                ..edge
            }));
            NewRow {
                id: id(1, n),
                seq: n as i64,
                wseq: n as i64,
                content: "river".into(),
                namespace: "default".into(),
                edges,
                ..NewRow::default()
            }
        })
        .collect();
    rows.extend((0..entities).map(|n| NewRow {
        id: id(2, n),
        kind: KIND_ENTITY,
        namespace: "default".into(),
        seq: n as i64,
        wseq: count as i64,
        ..NewRow::default()
    }));
    rows
}

fn report(name: &str, mut times: Vec<f64>, unit: &str, note: &str) {
    times.sort_by(f64::total_cmp);
    let p99 = times[times.len() * 99 / 100];
    let median = times[times.len() / 2];
    let tenth = times[times.len() / 10];
    println!("{name:>12}: p10 {tenth:.1}, median {median:.1}, p99 {p99:.1} {unit}; {note}");
}

fn main() {
    let argument = |at| {
        std::env::args()
            .nth(at)
            .map(|n| n.parse::<usize>().unwrap())
    };
    let (count, walks) = (argument(1).unwrap_or(100_000), argument(2).unwrap_or(1000));
    let entities = count / 5 + 2;
    let mut rng = Rng(1);
    let identity = Identity {
        store_uuid: [1; 16],
        dimensions: 4,
        model: "m".into(),
        analyser: "a".into(),
    };
    let projection = Projection::open(None, identity, false).unwrap();
    let rows = rows(&mut rng, count, entities);
    projection.apply(&rows, count as u64, [0; 32]).unwrap();
    let filter = Filter {
        namespace: "default".into(),
        ..Filter::default()
    };
    let snapshot = projection.snapshot();
    let trace = TraceParams::new(vec![0.0; 13]);
    let mut steps = Walks::new(&snapshot, &filter, &trace, 0);
    let traversal = Traversal {
        deterministic: false,
        threshold: 0.5,
        depth_first: false,
        max_nodes: 20,
        exploration_factor: 1.0,
        signal_decay: 1.0,
        normalize_weights: true,
        theta: 0.6,
        mentions: false,
        related: true,
        min_signal: 0.01,
        max_hops: None,
        max_entity_degree: 50,
        use_tracerank: true,
        max_edges: 10,
    };
    let (mut times, mut drawn) = (Vec::new(), 0);
    for _ in 0..walks {
        let starts: Vec<Id> = (0..STARTS).map(|_| id(1, rng.below(count))).collect();
        let (starts, seed) = (steps.nodes(&starts), rng.seed());
        let start = Instant::now();
        let (_, edges) = steps.walk(&starts, seed, &traversal);
        drawn += edges;
        times.push(start.elapsed().as_secs_f64() * 1e9 / edges.max(1) as f64);
    }
    let note = format!("{:.1} edges drawn a walk", drawn as f64 / walks as f64);
    report("walk", times, "ns an edge", &note);
    let (mut times, mut pushes, mut reached) = (Vec::new(), 0, 0);
    for _ in 0..walks {
        let starts: Vec<Id> = (0..4).map(|_| id(1, rng.below(count))).collect();
        let levels = (1..5).map(|rank| 1.0 / f64::from(rank));
        let starts: Vec<(u32, f64)> = steps.nodes(&starts).into_iter().zip(levels).collect();
        let named: Vec<Id> = (0..2).map(|_| id(2, rng.frequent(entities))).collect();
        let named = steps.nodes(&named);
        let start = Instant::now();
        let (memories, done) = steps.walk_entities(&starts, &named);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        pushes += done;
        reached += memories;
    }
    let note = format!(
        "{} pushes, {} memories a walk",
        pushes / walks,
        reached / walks
    );
    report("entity walk", times, "µs", &note);
}
