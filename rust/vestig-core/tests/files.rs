//! Files that were cut, flipped, swapped, emptied or written by another process at once.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use vestig_core::CoreError;
use vestig_core::format::{self, Identity, Manifest, SegmentEntry};
use vestig_core::map::{Held, Region};
use vestig_core::projection::Projection;
use vestig_core::segment::Segment;
use vestig_core::tail::NewRow;

fn identity() -> Identity {
    Identity {
        store_uuid: [7; 16],
        dimensions: 4,
        model: "m".into(),
        analyser: "a".into(),
    }
}

fn row(number: u8, seq: i64) -> NewRow {
    NewRow {
        id: [number; 16],
        seq,
        wseq: seq,
        content: format!("memory number{number} about rivers"),
        namespace: "default".into(),
        embedding: Some(vec![f32::from(number), 1.0, 2.0, 3.0]),
        lists: [vec!["tag".into()], vec!["manual".into()], vec![]],
        ..NewRow::default()
    }
}

fn open(folder: &Path) -> Projection {
    Projection::open(Some(folder.to_path_buf()), identity(), false).unwrap()
}

fn filled(folder: &Path) -> Projection {
    let projection = open(folder);
    projection
        .apply(&[row(1, 1), row(2, 2), row(3, 3)], 3, [3; 32])
        .unwrap();
    assert!(projection.publish(false).unwrap() > 0);
    projection
}

fn segment_file(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let plain = |path: &PathBuf| {
        format::segment_generation(path.file_name().unwrap().to_str().unwrap()).is_some()
    };
    entries.map(|entry| entry.path()).find(plain).unwrap()
}

fn overwrite(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

fn bind(bytes: &[u8]) -> Result<Segment, format::Damage> {
    let mut held = Held::zeroed(bytes.len());
    held.bytes_mut().copy_from_slice(bytes);
    Segment::open(Region::Held(held), &identity(), None)
}

/// Checksums made right again, so that the checks behind them are reached.
fn resealed(bytes: &[u8]) -> Vec<u8> {
    let mut held = Held::zeroed(bytes.len());
    held.bytes_mut().copy_from_slice(bytes);
    let length = bytes
        .get(12..16)
        .map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap()));
    let length = length as usize;
    if (68..=bytes.len()).contains(&length) {
        let crc = format::checksum(&held.bytes()[..length - 4]);
        held.bytes_mut()[length - 4..length].copy_from_slice(&crc.to_le_bytes());
    }
    let _ = vestig_core::builder::seal(&mut held);
    held.bytes().to_vec()
}

fn image() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    fs::read(segment_file(folder.path())).unwrap()
}

/// Uses every accessor on every row.
fn read_all(segment: &Segment) {
    let forward = vestig_core::row::Forward::of(segment);
    for row in 0..segment.rows() {
        let version = vestig_core::row::row_version(segment, &forward, row);
        assert_eq!(segment.find(&version.id), Some(row));
    }
    assert!(segment.term_number("zzz").is_none());
}

#[test]
fn a_sound_image_binds_and_reads() {
    let image = image();
    read_all(&bind(&image).unwrap());
    assert_eq!(resealed(&image), image);
}

#[test]
fn every_flipped_bit_of_a_segment_is_found() {
    let image = image();
    for at in 0..image.len() {
        let mut bad = image.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(bind(&bad).is_err(), "byte {at}");
    }
}

#[test]
fn every_length_but_the_right_one_is_refused() {
    let image = image();
    for length in 0..image.len() {
        assert!(bind(&image[..length]).is_err(), "length {length}");
    }
    assert!(bind(&[image.as_slice(), &[0]].concat()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_as_a_segment_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = format::parse_header(&bytes);
        let _ = format::header_crc(&bytes);
        let _ = format::parse_manifest(&bytes);
        prop_assert!(bind(&bytes).is_err());
    }

    #[test]
    fn changed_bytes_with_right_checksums_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = image();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(segment) = bind(&resealed(&bytes)) {
            let forward = vestig_core::row::Forward::of(&segment);
            for row in 0..segment.rows() {
                let _ = vestig_core::row::row_version(&segment, &forward, row);
            }
        }
    }

    #[test]
    fn manifests_round_trip_and_changed_ones_are_refused(
        generation in any::<u64>(),
        upto_seq in any::<u64>(),
        randoms in prop::collection::vec(any::<u64>(), 0..5),
        at in any::<prop::sample::Index>(),
    ) {
        let entry = |random: &u64| SegmentEntry {
            name: format::segment_name(generation, *random),
            bytes: *random,
            crc: *random as u32,
        };
        let segments = randoms.iter().map(entry).collect();
        let manifest =
            Manifest { generation, upto_seq, head: [9; 32], store_uuid: [7; 16], segments };
        let bytes = format::encode_manifest(&manifest);
        prop_assert_eq!(format::parse_manifest(&bytes), Ok(manifest));
        let mut bad = bytes.clone();
        bad[at.index(bytes.len())] ^= 4;
        prop_assert!(format::parse_manifest(&bad).is_err());
        prop_assert!(format::parse_manifest(&bytes[..at.index(bytes.len())]).is_err());
    }
}

#[test]
fn a_manifest_cannot_point_outside_its_folder() {
    for name in [
        "../x",
        "seg-1-../../etc",
        "/etc/passwd",
        "manifest",
        "seg-1-00000000000000zz",
    ] {
        assert!(!format::segment_name_is_plain(name), "{name}");
    }
    assert!(format::segment_name_is_plain(&format::segment_name(12, 34)));
}

/// What happens to a folder, and whether it is damage.
type Deed = fn(&Path);

#[test]
fn damage_is_moved_aside_and_the_store_opens_empty_d10() {
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
fn files_of_another_store_model_or_analyser_are_discarded_d10() {
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
    assert_eq!(writer.snapshot().ids(), reader.snapshot().ids());
}

#[test]
fn many_publications_stay_few_segments() {
    let folder = tempfile::tempdir().unwrap();
    let projection = open(folder.path());
    for seq in 1..=40 {
        projection
            .apply(&[row(seq, i64::from(seq))], u64::from(seq), [seq; 32])
            .unwrap();
        assert!(projection.publish(false).unwrap() > 0);
        assert!(projection.snapshot().published <= 6);
    }
    assert_eq!(projection.snapshot().rows(), 40);
    assert!(projection.publish(true).unwrap() > 0);
    assert_eq!(projection.snapshot().published, 1);
    assert_eq!(projection.publish(true).unwrap(), 0);
    let files = fs::read_dir(folder.path()).unwrap().filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("seg-")
    });
    assert_eq!(files.count(), 1);
}

#[test]
fn refresh_tells_damage_and_a_reset_replaces_it() {
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
fn a_reader_tells_one_damage_once() {
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
    let changes: [(&str, Change); 5] = [
        ("kind", |r| r.kind = 2),
        ("status", |r| r.status = 4),
        ("length", |r| r.embedding = Some(vec![1.0; 3])),
        ("finite", |r| r.embedding = Some(vec![f32::NAN; 4])),
        ("wseq", |r| r.wseq = 0),
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
