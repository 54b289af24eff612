//! Edges are read alike however the rows lie in segments.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "common/random_rows.rs"]
mod random_rows;

use random_rows::{Rng, identity, open};
use vestig_core::error::CoreError;
use vestig_core::query::graph::Graph;
use vestig_core::segment::format::{self, Section};
use vestig_core::segment::image;
use vestig_core::segment::map::{Held, Region};
use vestig_core::segment::{EdgeVersion, EventRow, Id, KIND_ENTITY, NO_TIME, Segment};
use vestig_core::snapshot::merged_image;
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::{NewRow, Revision};

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
    let mut rng = Rng(11);
    let mut rows: Vec<NewRow> = (0..90)
        .map(|n| rng.row(n, n as i64 + 1, 8, false))
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
    cut.apply_all(&[], &[], &gone, 202, [0; 32]).unwrap();
    whole.apply_all(&[], &[], &gone, 202, [0; 32]).unwrap();
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

#[test]
fn a_segment_without_some_rows_is_the_one_that_the_others_alone_make() {
    let mut rng = Rng(5);
    let mut rows: Vec<NewRow> = (0..150)
        .map(|n| rng.row(n, n as i64 + 1, 8, false))
        .collect();
    for (at, row) in rows.iter_mut().enumerate() {
        row.content += &format!(" own{}", at / 2);
        if at % 5 == 4 {
            let name = |text: &str| (text.to_lowercase(), text.to_owned());
            row.kind = KIND_ENTITY;
            row.names = vec![name(&format!("Name {}", at % 7)), name("Cache")];
        }
        for (place, edge) in row.edges.iter_mut().enumerate() {
            edge.kind = [0, 1, 1, 2, 3][(at + place) % 5];
            edge.confidence = (at % 3 > 0).then_some(edge.weight);
            edge.expired = if at % 11 == 0 { 7_000 } else { NO_TIME };
            if (at + place) % 13 == 0 {
                edge.end = [0xEE - place as u8; 16];
            }
        }
    }
    let leavings: [Vec<usize>; 7] = [
        vec![0],
        vec![149],
        vec![3, 4, 5, 9],
        (0..75).collect(),
        (0..150).step_by(2).collect(),
        (4..150).step_by(5).collect(),
        (0..150).filter(|at| at % 5 != 4).collect(),
    ];
    for leaving in leavings {
        let folder = tempfile::tempdir().unwrap();
        let projection = open(Some(folder.path()), 8);
        projection.apply(&rows, 150, [0; 32]).unwrap();
        projection.publish(false).unwrap();
        let gone: Vec<(Id, u64)> = leaving.iter().map(|at| (rows[*at].id, 151)).collect();
        projection.apply_all(&[], &[], &gone, 151, [0; 32]).unwrap();
        let mut wanted = merged_image(&identity(8), &projection.snapshot().parts);
        image::seal(&mut wanted).unwrap();
        assert!(projection.publish(false).unwrap() > 0);
        let snapshot = projection.snapshot();
        assert_eq!(snapshot.parts.len(), 1);
        let written = &snapshot.parts[0].segment;
        assert_eq!(written.rows(), rows.len() - leaving.len());
        let of = |image: &[u8]| format::parse_header(image).unwrap().extents;
        assert_eq!(
            of(written.image()),
            of(wanted.bytes()),
            "without {leaving:?}"
        );
        assert_eq!(written.image(), wanted.bytes());
    }
}

#[test]
fn a_revision_gives_what_the_whole_row_gives() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng(3);
    let mut rows: Vec<NewRow> = (0..60)
        .map(|n| rng.row(n, n as i64 + 1, 8, false))
        .collect();
    let (revised, whole) = (open(Some(folder.path()), 8), open(None, 8));
    for projection in [&revised, &whole] {
        projection.apply(&rows[..40], 40, [0; 32]).unwrap();
        projection.publish(false).unwrap();
        projection.apply(&rows[40..], 60, [0; 32]).unwrap();
    }
    let image = |projection: &Projection| {
        let mut image = merged_image(&identity(8), &projection.snapshot().parts);
        image::seal(&mut image).unwrap();
        image.bytes().to_vec()
    };
    let revision = |row: &NewRow, event: bool| Revision {
        id: row.id,
        wseq: row.wseq,
        status: row.status,
        t_invalid: row.t_invalid,
        t_expired: row.t_expired,
        events: row.events[row.events.len() - usize::from(event)..].to_vec(),
    };
    for (seq, at) in [(61, 2), (62, 39), (63, 45), (64, 45), (65, 2)] {
        let row: &mut NewRow = &mut rows[at];
        (row.wseq, row.status) = (seq, (seq % 3) as u8);
        row.t_invalid = (seq % 2 == 0).then_some(seq * 900);
        row.t_expired = (seq % 5 > 0).then_some(seq * 1000);
        if seq != 63 {
            row.events.push(EventRow {
                kind: 4,
                occurred: seq,
                recorded: seq,
                seq,
                row: 500 + seq,
            });
        }
        let new = [row.clone()];
        whole.apply(&new, seq as u64, [0; 32]).unwrap();
        revised
            .apply_all(
                &[],
                &[revision(&new[0], seq != 63)],
                &[],
                seq as u64,
                [0; 32],
            )
            .unwrap();
        assert!(image(&revised) == image(&whole), "after {seq}");
    }
    let before = image(&revised);
    let unknown = Revision {
        id: [9; 16],
        ..revision(&rows[2], false)
    };
    let older = Revision {
        wseq: 60,
        ..revision(&rows[2], false)
    };
    let refused = |revision| {
        let revision = std::slice::from_ref(revision);
        let done = revised.apply_all(&[], revision, &[], 66, [0; 32]);
        done.unwrap_err().to_string()
    };
    assert_eq!(refused(&unknown), CoreError::Moved.to_string());
    assert!(refused(&older).contains("a wseq of at least 65"));
    assert!(image(&revised) == before && revised.snapshot().applied_seq == 65);
}

/// Three memories that are all RELATED, one of them mentions an entity.
fn triangle() -> Vec<u8> {
    let id = |n: u8| [n; 16];
    let edge = |n: u8, end: u8, kind: u8, weight: f64| EdgeVersion {
        id: id(10 + n),
        end: id(end),
        kind,
        weight,
        confidence: Some(weight),
        created: 0,
        expired: NO_TIME,
    };
    let row = |n: u8, edges: Vec<EdgeVersion>| NewRow {
        id: id(n),
        kind: if n == 4 { KIND_ENTITY } else { 0 },
        seq: n.into(),
        wseq: n.into(),
        namespace: "default".into(),
        edges,
        ..NewRow::default()
    };
    let first = vec![edge(1, 2, 1, 0.5), edge(2, 3, 1, 0.9), edge(3, 4, 0, 1.0)];
    let rows = [
        row(1, first),
        row(2, vec![edge(4, 3, 1, 0.7)]),
        row(3, vec![]),
        row(4, vec![]),
    ];
    let projection = open(None, 4);
    projection.apply(&rows, 4, [0; 32]).unwrap();
    projection.snapshot().parts[0].segment.image().to_vec()
}

#[test]
fn related_edges_stand_once_at_each_end_strongest_first_or_are_refused() {
    let image = triangle();
    let bind = |bytes: &[u8]| {
        let mut held = Held::zeroed(bytes.len());
        held.bytes_mut().copy_from_slice(bytes);
        image::seal(&mut held).unwrap();
        Segment::open(Region::Held(held), &identity(4), None)
    };
    let words = |segment: &Segment, section| segment.column::<u32>(section).to_vec();
    let segment = bind(&image).unwrap();
    // By row: edge 0 is the mention, for types stand together.
    assert_eq!(words(&segment, Section::RelatedOffsets), [0, 2, 4, 6, 6]);
    let related = segment.column::<[u32; 2]>(Section::Related);
    assert_eq!(related, [[2, 2], [1, 1], [2, 3], [0, 1], [0, 2], [1, 3]]);
    assert_eq!(words(&segment, Section::IncomingOffsets), [0, 0, 0, 0, 1]);
    assert_eq!(words(&segment, Section::Incoming), [0]);
    let extents = format::parse_header(&image).unwrap().extents;
    let broken: [(Section, usize, &[u32], &str); 9] = [
        (Section::Related, 0, &[1, 1, 2, 2], "related does not sort"),
        (Section::Related, 0, &[2, 2, 2, 2], "related does not sort"),
        (Section::Related, 0, &[1, 2], "related does not sort"),
        (Section::Related, 4, &[0, 9], "related does not sort"),
        (Section::Related, 4, &[0, 0], "related does not sort"),
        (Section::RelatedOffsets, 1, &[5], "not ascending"),
        (Section::RelatedOffsets, 2, &[3], "related does not sort"),
        (Section::Incoming, 0, &[1], "incoming does not sort"),
        // The mention becomes the last of its row.
        (Section::Edges, 7, &[1 << 28], "section incoming: expected"),
    ];
    for (section, at, values, reason) in broken {
        let mut bad = image.clone();
        for (i, value) in values.iter().enumerate() {
            let start = extents[section as usize].offset as usize + 4 * (at + i);
            bad[start..start + 4].copy_from_slice(&value.to_le_bytes());
        }
        let refused = bind(&bad).map(drop).unwrap_err();
        assert!(refused.0.contains(reason), "{section:?}: {refused}");
    }
    let mut unsorted = image.clone();
    let edges = extents[Section::Edges as usize].offset as usize;
    unsorted[edges..edges + 64].rotate_left(32);
    let refused = bind(&unsorted).map(drop).unwrap_err();
    assert!(refused.0.contains("sorted by type"), "{refused}");
}
