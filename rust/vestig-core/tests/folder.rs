//! Folders that were damaged, or written by several processes at once.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::fs;
use std::path::Path;

use common::{filled, identity, open, overwrite, row, segment_file, segments};
use vestig_core::CoreError;
use vestig_core::segment::format::Identity;
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::NewRow;

/// Changes of a folder, and whether each is damage.
type Deed = fn(&Path);

#[test]
fn damage_is_moved_aside_and_the_store_opens_empty() {
    let deeds: [(&str, Deed); 9] = [
        ("manifest emptied", |f| overwrite(&f.join("manifest"), b"")),
        ("manifest foreign", |f| {
            overwrite(&f.join("manifest"), b"hello, world, this is text")
        }),
        ("manifest cut", |f| {
            let bytes = fs::read(f.join("manifest")).unwrap();
            overwrite(&f.join("manifest"), &bytes[..bytes.len() - 1]);
        }),
        ("segment emptied", |f| overwrite(&segment_file(f), b"")),
        ("segment foreign", |f| {
            overwrite(&segment_file(f), &[1; 5000])
        }),
        ("segment cut", |f| {
            let path = segment_file(f);
            let bytes = fs::read(&path).unwrap();
            overwrite(&path, &bytes[..bytes.len() / 2]);
        }),
        ("segment flipped", |f| {
            let path = segment_file(f);
            let mut bytes = fs::read(&path).unwrap();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            overwrite(&path, &bytes);
        }),
        ("segment deleted", |f| {
            fs::remove_file(segment_file(f)).unwrap()
        }),
        ("segment of another publication", |f| {
            let other = tempfile::tempdir().unwrap();
            filled(other.path())
                .apply(&[row(9, 4)], 4, [4; 32])
                .unwrap();
            let bytes = fs::read(segment_file(other.path())).unwrap();
            let path = segment_file(f);
            let mut bytes = bytes;
            bytes.extend_from_slice(&[0; 64]);
            overwrite(&path, &bytes);
        }),
    ];
    for (name, deed) in deeds {
        let folder = tempfile::tempdir().unwrap();
        drop(filled(folder.path()));
        deed(folder.path());
        let before = fs::read_dir(folder.path()).unwrap().count();
        let looking = Projection::open(Some(folder.path().into()), identity(), true).unwrap();
        assert!(looking.discarded().is_some(), "{name}: read-only");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            before,
            "{name}: files changed"
        );
        let opened = open(folder.path());
        assert!(opened.discarded().is_some(), "{name}");
        assert_eq!(
            (opened.snapshot().rows(), opened.snapshot().applied_seq),
            (0, 0),
            "{name}"
        );
        let aside = fs::read_dir(folder.path()).unwrap().filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .contains(".damaged-1")
        });
        assert!(aside.count() > 0, "{name}: nothing moved aside");
        opened
            .apply(&[row(1, 1), row(2, 2), row(3, 3)], 3, [3; 32])
            .unwrap();
        assert!(opened.publish(false).unwrap() > 0);
        assert!(
            opened.snapshot().generation > 1,
            "{name}: a generation was used twice"
        );
        let again = open(folder.path());
        assert_eq!(
            (again.discarded(), again.snapshot().rows()),
            (None, 3),
            "{name}"
        );
    }
}

#[test]
fn files_of_another_store_model_or_analyser_are_discarded() {
    type Change = fn(&mut Identity);
    let changes: [(&str, Change); 4] = [
        ("store", |i| i.store_uuid = [8; 16]),
        ("dimensions", |i| i.dimensions = 5),
        ("model", |i| i.model = "other".into()),
        ("analyser", |i| i.analyser = "other".into()),
    ];
    for (name, change) in changes {
        let folder = tempfile::tempdir().unwrap();
        drop(filled(folder.path()));
        let mut other = identity();
        change(&mut other);
        let opened = Projection::open(Some(folder.path().into()), other, false).unwrap();
        assert!(opened.discarded().is_some(), "{name}");
        assert_eq!(opened.snapshot().rows(), 0, "{name}");
    }
}

#[test]
fn leftover_and_unknown_files_never_stop_opening() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path()));
    for name in [
        "notes.txt",
        "manifest.new",
        "seg-9-0123456789abcdef",
        "seg-x",
        "seg-1-damaged",
    ] {
        fs::write(folder.path().join(name), b"leftover").unwrap();
    }
    fs::create_dir(folder.path().join("folder")).unwrap();
    let opened = open(folder.path());
    assert_eq!((opened.discarded(), opened.snapshot().rows()), (None, 3));
    opened.apply(&[row(4, 4)], 4, [4; 32]).unwrap();
    opened.publish(false).unwrap();
    assert_eq!(opened.snapshot().generation, 10);
    assert!(!folder.path().join("seg-9-0123456789abcdef").exists());
    assert!(folder.path().join("notes.txt").exists());
}

#[test]
fn another_process_sees_a_publication_and_keeps_its_own_tail() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = (filled(folder.path()), open(folder.path()));
    assert!(!reader.refresh().unwrap());
    reader.apply(&[row(4, 4)], 4, [4; 32]).unwrap();
    reader.apply(&[row(5, 5)], 5, [5; 32]).unwrap();
    let mut changed = row(1, 1);
    changed.wseq = 4;
    writer.apply(&[row(4, 4), changed], 4, [4; 32]).unwrap();
    writer.publish(false).unwrap();
    let held = reader.snapshot();
    assert!(reader.refresh().unwrap());
    assert!(!reader.refresh().unwrap());
    let now = reader.snapshot();
    assert_eq!(
        (now.applied_seq, now.tail_rows(), now.rows(), now.published),
        (5, 1, 5, 2)
    );
    assert_eq!((now.upto_seq, now.chain_head), (4, [5; 32]));
    assert_eq!(held.rows(), 5, "an older view stays as it was");
    // The writer is behind the reader: its publication would lose nothing, and it adopts.
    reader.publish(false).unwrap();
    assert_eq!(writer.publish(false).unwrap(), 0);
    assert_eq!(writer.snapshot().applied_seq, 5);
    assert_eq!(writer.snapshot().ids(false), reader.snapshot().ids(false));
}

#[test]
fn a_publication_writes_the_tail_alone() {
    let folder = tempfile::tempdir().unwrap();
    let projection = open(folder.path());
    let mut sizes = Vec::new();
    for seq in 1..=40 {
        projection
            .apply(&[row(seq, i64::from(seq))], u64::from(seq), [seq; 32])
            .unwrap();
        let manifest = 84 + 40 * u64::from(seq);
        sizes.push(projection.publish(false).unwrap() - manifest);
        assert_eq!(projection.snapshot().published, usize::from(seq));
    }
    assert!(
        sizes.iter().all(|size| *size <= sizes[0] + 200),
        "{sizes:?}"
    );
    assert_eq!(projection.snapshot().rows(), 40);
    assert!(projection.publish(true).unwrap() > 0);
    assert_eq!(projection.snapshot().published, 1);
    assert_eq!(projection.publish(true).unwrap(), 0);
    assert_eq!(segments(folder.path()).len(), 1);
}

#[test]
fn refresh_reports_damage_and_a_reset_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let projection = filled(folder.path());
    overwrite(&folder.path().join("manifest"), b"no manifest");
    assert!(matches!(
        projection.refresh(),
        Err(CoreError::Damaged { .. })
    ));
    assert_eq!(projection.snapshot().rows(), 3, "what is mapped stays");
    projection.reset();
    assert_eq!(
        (
            projection.snapshot().rows(),
            projection.snapshot().applied_seq
        ),
        (0, 0)
    );
    projection.apply(&[row(1, 1)], 1, [1; 32]).unwrap();
    assert!(projection.publish(false).unwrap() > 0);
    let again = open(folder.path());
    assert_eq!((again.discarded(), again.snapshot().rows()), (None, 1));
}

#[test]
fn a_reader_reports_one_damage_once() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path()));
    let open_reader = || Projection::open(Some(folder.path().into()), identity(), true).unwrap();
    let reader = open_reader();
    overwrite(&folder.path().join("manifest"), b"no manifest");
    assert!(reader.refresh().is_err());
    reader.reset();
    reader.apply(&[row(1, 1)], 1, [1; 32]).unwrap();
    assert!(!reader.refresh().unwrap());
    let late = open_reader();
    assert!(late.discarded().is_some());
    assert!(!late.refresh().unwrap());
    assert_eq!(late.publish(true).unwrap(), 0);
    // A writer repairs; both see it.
    let writer = open(folder.path());
    writer.apply(&[row(1, 1), row(2, 2)], 2, [2; 32]).unwrap();
    writer.publish(false).unwrap();
    for reader in [reader, late] {
        assert!(reader.refresh().unwrap());
        assert_eq!(
            (reader.snapshot().rows(), reader.snapshot().applied_seq),
            (2, 2)
        );
    }
}

#[test]
fn a_publication_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let projection = filled(folder.path());
    projection.apply(&[row(4, 4)], 4, [4; 32]).unwrap();
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(matches!(projection.publish(false), Err(CoreError::Io(_))));
    let now = projection.snapshot();
    assert_eq!(
        (now.rows(), now.tail_rows(), now.applied_seq, now.generation),
        (4, 1, 4, 1)
    );
    fs::create_dir(folder.path()).unwrap();
    assert!(
        projection.publish(false).unwrap() > 0,
        "the whole set is written again"
    );
    assert_eq!(open(folder.path()).snapshot().rows(), 4);
}

#[test]
fn merging_codes_gives_the_image_of_fresh_rows() {
    let (merged, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let projection = open(merged.path());
    for number in 1..8 {
        let seq = u64::from(number);
        projection
            .apply(&[row(number, i64::from(number))], seq, [0; 32])
            .unwrap();
        projection.publish(number == 7).unwrap();
    }
    let at_once = open(fresh.path());
    let rows: Vec<NewRow> = (1..8).rev().map(|n| row(n, i64::from(n))).collect();
    at_once.apply(&rows, 7, [0; 32]).unwrap();
    at_once.publish(false).unwrap();
    let bytes = |folder: &Path| fs::read(segment_file(folder)).unwrap();
    assert_eq!(bytes(merged.path()), bytes(fresh.path()));
}

#[test]
fn an_empty_store_gets_a_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let projection = open(folder.path());
    assert!(projection.publish(true).unwrap() > 0);
    assert_eq!(projection.publish(true).unwrap(), 0);
    assert_eq!(open(folder.path()).snapshot().generation, 1);
    fs::remove_file(folder.path().join("manifest")).unwrap();
    assert!(!projection.refresh().unwrap());
    assert!(projection.publish(false).unwrap() > 0);
    assert_eq!(open(folder.path()).snapshot().generation, 2);
}

#[test]
fn refused_rows_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let projection = filled(folder.path());
    type Change = fn(&mut NewRow);
    let changes: [(&str, Change); 6] = [
        ("kind", |r| r.kind = 3),
        ("status", |r| r.status = 4),
        ("length", |r| r.embedding = Some(vec![1.0; 3])),
        ("finite", |r| r.embedding = Some(vec![f32::NAN; 4])),
        ("wseq", |r| r.wseq = 0),
        ("features", |r| r.features = 1 << 18),
    ];
    for (name, change) in changes {
        let mut bad = row(5, 5);
        change(&mut bad);
        let refused = projection.apply(&[row(4, 4), bad], 5, [5; 32]);
        assert!(matches!(refused, Err(CoreError::Invalid(_))), "{name}");
        let snapshot = projection.snapshot();
        assert_eq!(
            (snapshot.rows(), snapshot.applied_seq, snapshot.chain_head),
            (3, 3, [3; 32])
        );
    }
    assert!(
        projection.apply(&[], 2, [2; 32]).is_err(),
        "a projection never goes back"
    );
}
