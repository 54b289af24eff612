//! Merging beside readers, writers and other processes.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{identity, open, row, segments};
use vestig_core::segment::image;
use vestig_core::snapshot::merge::MergeGoal;
use vestig_core::snapshot::merge_plan;
use vestig_core::snapshot::merged_image;
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::NewRow;
use vestig_core::snapshot::writer;

const TO_ONE: MergeGoal = MergeGoal {
    max_segments: 1,
    max_bytes: u64::MAX,
    wait: false,
};

/// One segment per row, written by transactions 1 …
fn spread(folder: &Path, rows: u8) -> Projection {
    let projection = open(folder);
    for number in 1..=rows {
        let seq = u64::from(number);
        projection
            .apply(&[row(number, i64::from(number))], seq, [number; 32])
            .unwrap();
        projection.publish(false).unwrap();
    }
    assert_eq!(projection.snapshot().published, usize::from(rows));
    projection
}

fn changed(number: u8, wseq: i64) -> NewRow {
    let mut row = row(number, i64::from(number));
    row.wseq = wseq;
    row.pinned = true;
    row
}

/// Returns what a fresh projection of these rows writes.
fn image(projection: &Projection) -> Vec<u8> {
    let snapshot = projection.snapshot();
    let mut image = merged_image(&identity(), &snapshot.parts);
    image::seal(&mut image).unwrap();
    image.bytes().to_vec()
}

#[test]
fn a_merge_changes_files_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let projection = spread(folder.path(), 5);
    projection.apply(&[changed(2, 6)], 6, [6; 32]).unwrap();
    let (before, held) = (image(&projection), projection.snapshot());
    assert!(projection.merge(TO_ONE).unwrap() > 0);
    let now = projection.snapshot();
    assert_eq!((now.published, now.rows(), now.tail_rows()), (1, 5, 1));
    assert_eq!(
        (now.applied_seq, now.upto_seq, now.chain_head),
        (6, 5, [6; 32])
    );
    assert!(now.generation > held.generation);
    assert_eq!(image(&projection), before);
    assert_eq!(held.rows(), 5, "an older view stays as it was");
    assert_eq!(projection.merge(TO_ONE).unwrap(), 0);
    // The version that only the tail replaced is still in the files: others may stand at 5.
    let other = open(folder.path());
    assert_eq!((other.discarded(), other.snapshot().rows()), (None, 5));
    drop(held);
    projection.sweep().unwrap();
    assert_eq!(segments(folder.path()).len(), 1);
}

#[test]
fn masks_hold_across_merges_and_publications() {
    let folder = tempfile::tempdir().unwrap();
    let projection = spread(folder.path(), 4);
    for (number, seq) in [(1, 5), (3, 6), (1, 7)] {
        let rows = [changed(number, seq)];
        projection.apply(&rows, seq as u64, [9; 32]).unwrap();
        projection.publish(false).unwrap();
        let goal = MergeGoal {
            max_segments: 3,
            ..TO_ONE
        };
        projection.merge(goal).unwrap();
        assert_eq!(projection.snapshot().rows(), 4);
        assert_eq!(image(&projection), image(&open(folder.path())));
    }
}

#[test]
fn a_merge_whose_inputs_were_replaced_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (late, other) = (spread(folder.path(), 4), open(folder.path()));
    assert!(other.publish(true).unwrap() > 0);
    // `late` still believes in four segments.
    assert_eq!(late.snapshot().published, 4);
    assert_eq!(late.merge(TO_ONE).unwrap(), 0);
    assert!(late.refresh().unwrap());
    assert_eq!((late.snapshot().published, late.snapshot().rows()), (1, 4));
    assert_eq!(other.sweep().unwrap(), 0);
    assert_eq!(segments(folder.path()).len(), 1, "its file is gone");
}

#[test]
fn a_segment_published_meanwhile_stays_behind_the_merged_one() {
    let folder = tempfile::tempdir().unwrap();
    let (merging, other) = (spread(folder.path(), 3), open(folder.path()));
    other
        .apply(&[changed(1, 4), row(4, 4)], 4, [4; 32])
        .unwrap();
    other.publish(false).unwrap();
    assert!(merging.merge(TO_ONE).unwrap() > 0);
    // Which transactions are shown changes by `refresh` alone.
    assert_eq!(merging.snapshot().applied_seq, 3);
    assert!(merging.refresh().unwrap());
    assert!(other.refresh().unwrap());
    for projection in [&merging, &other, &open(folder.path())] {
        let now = projection.snapshot();
        assert_eq!((now.published, now.rows(), now.applied_seq), (2, 4, 4));
        assert_eq!(image(projection), image(&other));
    }
    merging.sweep().unwrap();
    assert_eq!(segments(folder.path()).len(), 2);
}

#[test]
fn a_forgotten_memory_leaves_merged_segments_with_the_next_publication() {
    let folder = tempfile::tempdir().unwrap();
    let projection = spread(folder.path(), 3);
    projection
        .apply_all(&[], &[], &[([2; 16], 4)], 4, [4; 32])
        .unwrap();
    assert!(projection.merge(TO_ONE).unwrap() > 0);
    assert_eq!(projection.snapshot().rows(), 2);
    assert!(projection.publish(false).unwrap() > 0);
    let again = open(folder.path());
    let now = again.snapshot();
    assert_eq!((now.rows(), now.published, now.applied_seq), (2, 1, 4));
    assert_eq!(now.parts[0].segment.rows(), 2);
}

#[test]
fn segments_that_hold_nothing_any_more_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let projection = spread(folder.path(), 2);
    let rows = [changed(1, 3), changed(2, 3), row(3, 3), row(4, 3)];
    projection.apply(&rows, 3, [3; 32]).unwrap();
    projection.publish(false).unwrap();
    assert!(projection.merge(TO_ONE).unwrap() > 0);
    let now = projection.snapshot();
    assert_eq!((now.published, now.rows()), (1, 4));
    assert_eq!(now.parts[0].segment.rows(), 4);
}

#[test]
fn one_merges_at_a_time_and_sweeps_spare_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (projection, other) = (spread(folder.path(), 3), open(folder.path()));
    let turn = writer::Lock::merging(folder.path(), false)
        .unwrap()
        .unwrap();
    assert!(
        writer::Lock::merging(folder.path(), false)
            .unwrap()
            .is_none()
    );
    assert_eq!(projection.merge(TO_ONE).unwrap(), 0);
    drop(turn);
    let draft = {
        let _lock = writer::Lock::exclusive(folder.path()).unwrap();
        writer::Draft::create(folder.path(), 90).unwrap()
    };
    let path = draft.path().to_path_buf();
    assert_eq!(other.sweep().unwrap(), 1);
    assert!(path.exists());
    drop(draft);
    assert!(!path.exists());
    // What a killed process leaves has no lock, is read by nobody and goes with the next sweep.
    fs::write(&path, b"half a segment").unwrap();
    other.apply(&[row(9, 4)], 4, [4; 32]).unwrap();
    other.publish(false).unwrap();
    assert!(!path.exists());
    assert!(
        other.snapshot().generation > 90,
        "a generation was used twice"
    );
    assert!(projection.refresh().unwrap());
    assert!(projection.merge(TO_ONE).unwrap() > 0);
    assert_eq!(open(folder.path()).snapshot().rows(), 4);
}

#[test]
fn a_merge_that_fails_or_is_reset_away_leaves_all_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let projection = spread(folder.path(), 3);
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(projection.merge(TO_ONE).is_err());
    assert_eq!(projection.snapshot().published, 3);
    let folder = tempfile::tempdir().unwrap();
    let projection = spread(folder.path(), 3);
    projection.reset();
    assert_eq!(projection.merge(TO_ONE).unwrap(), 0);
    let looking = Projection::open(Some(folder.path().into()), identity(), true).unwrap();
    assert_eq!(looking.snapshot().published, 3);
    assert_eq!(looking.merge(TO_ONE).unwrap(), 0);
    let memory = Projection::open(None, identity(), false).unwrap();
    assert_eq!(memory.merge(TO_ONE).unwrap(), 0);
}

/// Two processes write, publish and merge in one folder while readers look on.
#[test]
fn merges_race_with_publications_merges_and_readers() {
    let folder = tempfile::tempdir().unwrap();
    let last = 60_u8;
    let writer = spread(folder.path(), 2);
    let merging = [open(folder.path()), open(folder.path())];
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for merging in &merging {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    merging.refresh().unwrap();
                    merging.merge(TO_ONE).unwrap();
                }
            });
        }
        scope.spawn(|| {
            let reader = open(folder.path());
            while !done.load(Ordering::Relaxed) {
                reader.refresh().unwrap();
                let now = reader.snapshot();
                // Transaction n adds memory n and changes memory 1: a state is whole or absent.
                assert_eq!(now.rows() as u64, now.applied_seq);
                let (segment, at) = now.find(&[1; 16]).unwrap();
                let version =
                    segment.column::<i64>(vestig_core::segment::format::Section::Wseq)[at];
                let stands = if now.applied_seq == 2 {
                    1
                } else {
                    now.applied_seq
                };
                assert_eq!(version as u64, stands);
            }
        });
        for number in 3..=last {
            let seq = i64::from(number);
            let rows = [row(number, seq), changed(1, seq)];
            writer.apply(&rows, seq as u64, [number; 32]).unwrap();
            assert!(writer.publish(false).unwrap() > 0);
            writer.merge(TO_ONE).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let again = open(folder.path());
    assert_eq!(again.discarded(), None);
    assert_eq!(again.snapshot().rows(), usize::from(last));
    assert!(again.verify().is_empty());
    again.merge(TO_ONE).unwrap();
    assert!(merge_plan::merged(&again.snapshot(), 1, u64::MAX).is_none());
    let fresh = Projection::open(None, identity(), false).unwrap();
    let rows: Vec<NewRow> = (2..=last).map(|n| row(n, i64::from(n))).collect();
    fresh.apply(&rows, u64::from(last), [0; 32]).unwrap();
    fresh
        .apply(&[changed(1, i64::from(last))], u64::from(last), [0; 32])
        .unwrap();
    assert_eq!(image(&again), image(&fresh));
}
