//! Edges are read alike however the rows lie in segments.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "common/dice.rs"]
mod dice;

use dice::{Dice, open};
use vestig_core::graph::Graph;
use vestig_core::projection::Projection;
use vestig_core::segment::Id;
use vestig_core::tail::NewRow;

/// Neighbours of every node as sorted (other end, edge), and of how many parts they were read.
fn links(projection: &Projection) -> Vec<(Id, Vec<(Id, Id)>)> {
    let snapshot = projection.snapshot();
    let graph = Graph::new(&snapshot, i64::MAX - 1);
    let of = |id: Id| {
        let mut near = Vec::new();
        graph.neighbours(graph.locate(&id).unwrap(), &mut near);
        let mut ends: Vec<(Id, Id)> = near.iter().map(|n| (n.id, n.edge)).collect();
        ends.sort_unstable();
        (id, ends)
    };
    snapshot.ids(false).into_iter().map(of).collect()
}

#[test]
fn edges_join_the_same_nodes_however_rows_are_cut_into_segments() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Dice(11);
    let mut rows: Vec<NewRow> = (0..90)
        .map(|n| dice.row(n, n as i64 + 1, 8, false))
        .collect();
    let whole = open(None, 8);
    whole.apply(&rows, 200, [0; 32]).unwrap();
    let cut = open(Some(folder.path()), 8);
    for (i, part) in rows.chunks(13).enumerate() {
        cut.apply(part, (i as u64 + 1) * 13, [0; 32]).unwrap();
        if i % 3 == 0 {
            cut.publish(false).unwrap();
        }
    }
    cut.apply(&[], 200, [0; 32]).unwrap();
    let wanted = links(&whole);
    assert!(wanted.iter().any(|(_, ends)| ends.len() > 5));
    assert_eq!(links(&cut), wanted);
    for row in rows.iter_mut().step_by(4) {
        row.wseq = 201;
        row.edges.truncate(1);
    }
    let newer: Vec<NewRow> = rows.iter().step_by(4).cloned().collect();
    cut.apply(&newer, 201, [0; 32]).unwrap();
    whole.apply(&newer, 201, [0; 32]).unwrap();
    let gone = [(rows[7].id, 202)];
    cut.apply_removing(&[], &gone, 202, [0; 32]).unwrap();
    whole.apply_removing(&[], &gone, 202, [0; 32]).unwrap();
    let wanted = links(&whole);
    assert!(
        wanted
            .iter()
            .all(|(_, ends)| ends.iter().all(|(end, _)| *end != rows[7].id))
    );
    assert_eq!(links(&cut), wanted);
    cut.publish(true).unwrap();
    assert_eq!(links(&cut), wanted);
}
