use super::*;
use crate::kernels::bits::count;
use crate::query::filter::eligible;
use crate::segment::format::Identity;
use crate::segment::{EdgeVersion, NO_TIME};
use crate::snapshot::projection::Projection;
use crate::snapshot::tail::NewRow;

const MEMORIES: u8 = 40;
const ENTITIES: u8 = 45;

fn id(kind: u8, n: u8) -> Id {
    let mut id = [n; 16];
    id[15] = kind;
    id
}

fn memory(n: u8, wseq: i64) -> NewRow {
    let edges = (0..3).map(|i| EdgeVersion {
        id: id(10 + i, n),
        end: id(2, (n * (3 + i) + i) % ENTITIES),
        kind: MENTIONS,
        weight: 1.0,
        confidence: (i > 0).then_some(0.5),
        created: 0,
        expired: if n.is_multiple_of(5) && i == 1 {
            9
        } else {
            NO_TIME
        },
    });
    NewRow {
        id: id(1, n),
        seq: i64::from(n),
        wseq,
        namespace: if n % 8 == 7 { "other" } else { "default" }.into(),
        edges: edges.collect(),
        ..NewRow::default()
    }
}

fn entity(n: u8) -> NewRow {
    NewRow {
        id: id(2, n),
        kind: KIND_ENTITY,
        namespace: if n == 8 { "other" } else { "default" }.into(),
        seq: i64::from(n),
        wseq: 50,
        ..NewRow::default()
    }
}

/// `again`: memories that are written a second time, which masks their first rows.
fn projection(again: &[u8]) -> Projection {
    let identity = Identity {
        store_uuid: [1; 16],
        dimensions: 4,
        model: "m".into(),
        analyser: "a".into(),
    };
    let projection = Projection::open(None, identity, false).unwrap();
    let mut rows: Vec<NewRow> = (0..MEMORIES).map(|n| memory(n, 50)).collect();
    rows.extend((0..ENTITIES).map(entity));
    projection.apply(&rows, 50, [0; 32]).unwrap();
    if !again.is_empty() {
        let rows: Vec<NewRow> = again.iter().map(|n| memory(*n, 51)).collect();
        projection.apply(&rows, 51, [0; 32]).unwrap();
    }
    projection
}

fn with_graph(again: &[u8], past: bool, mut check: impl FnMut(&mut EligibleGraph<'_>)) {
    let projection = projection(again);
    let snapshot = projection.snapshot();
    let filter = Filter {
        namespace: "default".into(),
        known_at: 8,
        past,
        ..Filter::default()
    };
    let of = |part| eligible(part, &filter).0;
    let bits: Vec<Bits> = snapshot.parts.iter().map(of).collect();
    let total = bits.iter().map(|bits| count(bits)).sum();
    let trace = TraceParams::new(vec![0.0; 13]);
    check(&mut EligibleGraph::new(
        &snapshot,
        &filter,
        bits,
        total,
        (&trace, 0),
    ));
}

fn degrees(graph: &EligibleGraph<'_>) -> Vec<usize> {
    let nodes = (0..ENTITIES).filter_map(|n| graph.locate(&id(2, n)));
    let kept = nodes.filter(|node| graph.is_entity(*node));
    kept.map(|node| graph.mentions_of(node, usize::MAX))
        .collect()
}

fn starts(graph: &EligibleGraph<'_>) -> Vec<(u32, f64)> {
    let number = |n| graph.number(graph.locate(&id(1, n)).unwrap());
    [(number(3), 0.9), (number(20), 0.5), (number(11), 0.25)].to_vec()
}

#[test]
fn counted_mentions_are_those_of_the_graph() {
    for again in [&[][..], &[4, 9, 33]] {
        with_graph(again, false, |graph| {
            let asked = degrees(graph);
            let mut distinct = Vec::new();
            for n in (0..ENTITIES).filter(|n| *n != 8) {
                let mut memories = Vec::new();
                let node = graph.locate(&id(2, n)).unwrap();
                graph.each_mention(node, |memory, _| memories.push(memory));
                memories.dedup();
                distinct.push(memories.len());
            }
            assert_eq!(asked, distinct);
            let starts = starts(graph);
            let first = graph.entity_walk(&starts, &[]);
            assert!(graph.counts.iter().all(Option::is_none));
            let second = graph.entity_walk(&starts, &[]);
            assert!(graph.counts.iter().all(Option::is_some));
            assert_eq!(first, second);
            assert_eq!(degrees(graph), asked);
            assert!(first.pushes > 3);
        });
    }
}

#[test]
fn time_travel_never_uses_counted_mentions() {
    with_graph(&[], true, |graph| {
        let starts = starts(graph);
        let first = graph.entity_walk(&starts, &[]);
        assert_eq!(first, graph.entity_walk(&starts, &[]));
        assert!(graph.counts.iter().all(Option::is_none));
    });
}

#[test]
fn rows_out_of_order_give_the_same_entity_walk() {
    let mut ranks = Vec::new();
    for (again, ordered) in [(&[][..], true), (&[4, 9, 33][..], false)] {
        with_graph(again, false, |graph| {
            let found = graph.entity_walk(&starts(graph), &[]);
            assert_eq!(graph.ordered, ordered);
            let mut named: Vec<(Id, u64)> = (found.memories.iter())
                .map(|(node, rank)| (graph.graph.id(graph.node(*node)), rank.to_bits()))
                .collect();
            named.sort_unstable();
            ranks.push(named);
        });
    }
    assert_eq!(ranks[0], ranks[1]);
}
