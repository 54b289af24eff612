//! Segments and manifests of any bytes: refused or read, never a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::fs;

use common::{filled, identity, segment_file};
use proptest::prelude::*;
use vestig_core::kernels::piece_codes::{CODE_BYTES, OwnedPieces, Pieces, SPECIAL};
use vestig_core::segment::Segment;
use vestig_core::segment::format::{self, Manifest, Section, SegmentEntry};
use vestig_core::segment::map::{Held, Region};

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
    let _ = vestig_core::segment::image::seal(&mut held);
    held.bytes().to_vec()
}

fn image() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    fs::read(segment_file(folder.path())).unwrap()
}

/// Uses every accessor on every row.
fn read_all(segment: &Segment) {
    let forward = vestig_core::segment::row::Forward::of(segment);
    for row in 0..segment.rows() {
        let version = vestig_core::segment::row::row_version(segment, &forward, row);
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

/// A sound image with other values from a place of a section on, under right checksums.
fn with_values(image: &[u8], section: Section, at: usize, values: &[u8]) -> Vec<u8> {
    let extent = format::parse_header(image).unwrap().extents[section as usize];
    assert!(at + values.len() <= extent.length as usize);
    let mut bad = image.to_vec();
    let start = extent.offset as usize + at;
    bad[start..start + values.len()].copy_from_slice(values);
    resealed(&bad)
}

#[test]
fn features_titles_and_pieces_that_break_a_rule_are_refused() {
    let image = image();
    let segment = bind(&image).unwrap();
    let found = |row| segment.pieces(row);
    // Rows 1, 2 and 3 have one, two and no pieces.
    assert_eq!((found(0).ids, found(1).ids), (&[0][..], &[0, 1000][..]));
    assert_eq!(found(1).signs, [[1; 32], [2; 32]]);
    assert_eq!(found(1).scales, [0x0101, 0x0202]);
    assert_eq!(found(2), Pieces::default());
    assert_eq!((segment.features(2), segment.memory_rows()), (3, 3));
    let title = segment.title(1).and_then(|number| segment.string(number));
    assert_eq!(title, Some("plan 2"));
    let word = |value: u32| value.to_le_bytes();
    let broken: [(Section, usize, [u8; 4], &str); 11] = [
        (Section::TextTermOffsets, 0, word(1), "not ascending from 0"),
        (Section::TextTermOffsets, 24, word(99), "do not end"),
        (Section::TextTerms, 1, word(99), "unknown term"),
        (Section::TextTerms, 0, word(u32::MAX), "within a number"),
        (Section::Features, 4, word(1 << 18), "unknown bit"),
        (Section::Titles, 8, word(77), "unknown string"),
        (Section::PieceOffsets, 0, word(1), "not ascending from 0"),
        (Section::PieceOffsets, 4, word(9), "not ascending"),
        (Section::PieceOffsets, 12, word(4), "do not end at 3"),
        (Section::PieceScales, 0, word(0x7C00), "no scale"),
        (Section::PieceScales, 2, word(0x8001), "no scale"),
    ];
    for (section, at, value, reason) in broken {
        let refused = bind(&with_values(&image, section, at, &value))
            .map(drop)
            .unwrap_err();
        assert!(refused.0.contains(reason), "{section:?}: {refused}");
    }
    let none = u32::MAX.to_le_bytes();
    let untitled = bind(&with_values(&image, Section::Titles, 0, &none)).unwrap();
    assert_eq!(untitled.title(0), None);
    let ids = with_values(&image, Section::PieceIds, 0, &none[..2]);
    let segment = bind(&ids).unwrap();
    assert_eq!(segment.pieces(0).ids, [SPECIAL]);
    assert_eq!(segment.pieces(0).id_bytes(), none);
}

#[test]
fn pieces_of_any_bytes_are_whole_or_refused() {
    let of_ids =
        |ids: [u32; 2]| OwnedPieces::from_bytes(ids.map(u32::to_le_bytes).as_flattened(), &[2; 68]);
    for (id, stored) in [(0, 0), (65_534, 65_534), (65_535, 0), (200_000, 3_395)] {
        let pieces = of_ids([id, u32::MAX]).unwrap();
        assert_eq!(pieces.view().ids, [stored, SPECIAL]);
    }
    let of = |ids: usize, codes: usize| OwnedPieces::from_bytes(&vec![0; ids], &vec![2; codes]);
    assert!(of(640, 5_440).is_ok());
    for (ids, codes) in [(0, 0), (7, 34), (4, 33), (4, 68), (644, 5_474)] {
        assert!(of(ids, codes).is_err(), "{ids} {codes}");
    }
    let one = |scale: u16| {
        let mut code = [0xFF; CODE_BYTES];
        code[CODE_BYTES - 2..].copy_from_slice(&scale.to_le_bytes());
        OwnedPieces::from_bytes(&[0; 4], &code)
    };
    assert!(one(0).is_ok() && one(0x7BFF).is_ok());
    assert!(one(0x7C00).is_err() && one(0x7C01).is_err() && one(0x8000).is_err());
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
            let forward = vestig_core::segment::row::Forward::of(&segment);
            for row in 0..segment.rows() {
                let _ = vestig_core::segment::row::row_version(&segment, &forward, row);
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
