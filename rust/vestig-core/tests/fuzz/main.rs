//! Seeded fuzzing of every byte parser on the stable toolchain, bounded in time; `rust/fuzz` runs
//! the same drivers without an end.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod drivers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use vestig_core::embed::onnx::Initialisers;
use vestig_core::segment::format::{self, Manifest, SegmentEntry};

/// For each of the tests here; on any machine at least `CASES_MIN` cases run.
const SECONDS: u64 = 2;
const CASES_MIN: u64 = 200;

/// Numbers for tests: a fixed linear congruence.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.0 >> 33) as usize) % n.max(1)
    }

    /// Numbers at which arithmetic goes wrong, or any.
    fn number(&mut self) -> u64 {
        let any = (self.below(1 << 31) as u64) << 33 | self.below(1 << 31) as u64;
        [
            0,
            1,
            63,
            64,
            255,
            1 << 31,
            u64::from(u32::MAX),
            1 << 63,
            u64::MAX,
            any,
        ][self.below(10)]
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }

    /// A changed copy: bits, bytes, numbers, ranges copied, cut, grown.
    fn mutated(&mut self, sound: &[u8]) -> Vec<u8> {
        let mut bytes = sound.to_vec();
        for _ in 0..=self.below(6) {
            if bytes.is_empty() {
                break;
            }
            // Headers are short and decide most.
            let reach = [bytes.len(), bytes.len().min(1200)][self.below(2)];
            let at = self.below(reach);
            match self.below(7) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.below(256) as u8,
                2 | 3 => {
                    let width = [2, 4, 8][self.below(3)].min(bytes.len() - at);
                    let number = self.number().to_le_bytes();
                    bytes[at..at + width].copy_from_slice(&number[..width]);
                }
                4 => {
                    let length = self.below(64).min(bytes.len() - at);
                    let from = self.below(bytes.len() - length + 1);
                    bytes.copy_within(from..from + length, at);
                }
                5 if self.below(4) == 0 => bytes.truncate(at),
                5 => {
                    let length = self.below(64).min(bytes.len() - at);
                    bytes[at..at + length].fill(0);
                }
                _ => {
                    if self.below(4) == 0 {
                        let grown = self.below(40);
                        bytes.extend(self.bytes(grown));
                    }
                }
            }
        }
        bytes
    }
}

/// Runs a driver on changed copies and on any bytes; a failure names the case that repeats it.
fn fuzz(sound: &[&[u8]], mut driver: impl FnMut(&[u8])) {
    let started = Instant::now();
    let mut case = 0;
    while case < CASES_MIN || started.elapsed() < Duration::from_secs(SECONDS) {
        let mut rng = Rng(case.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        rng.below(2);
        let bytes = match rng.below(sound.len() * 4 + 1) {
            0 => {
                let length = rng.below(600);
                rng.bytes(length)
            }
            at => rng.mutated(sound[(at - 1) / 4]),
        };
        let ended = catch_unwind(AssertUnwindSafe(|| driver(&bytes)));
        assert!(ended.is_ok(), "case {case} panicked: {bytes:?}");
        case += 1;
    }
}

fn image() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    drivers::image(folder.path()).expect("a published segment")
}

#[test]
fn segments_of_any_bytes_never_panic() {
    let image = image();
    assert!(drivers::segment(&image));
    assert_eq!(drivers::resealed_segment(&image), image);
    let (mut cases, mut bound) = (0, 0);
    fuzz(&[&image], |bytes| {
        let plain = drivers::segment(bytes);
        assert!(!plain || bytes == image, "a changed segment was bound");
        cases += 1;
        bound += u32::from(drivers::sealed_segment(bytes));
    });
    // Right checksums over wrong bytes: many are refused by the rules, many are read.
    assert!(bound > cases / 50 && bound < cases, "{bound} of {cases}");
}

#[test]
fn manifests_of_any_bytes_never_panic() {
    let entry = |number: u64| SegmentEntry {
        name: format::segment_name(number, number * 77),
        bytes: number,
        crc: number as u32,
    };
    let manifest = |count: u64| {
        format::encode_manifest(&Manifest {
            generation: 9,
            upto_seq: 8,
            head: [7; 32],
            store_uuid: [6; 16],
            segments: (0..count).map(entry).collect(),
        })
    };
    let (empty, full) = (manifest(0), manifest(5));
    assert_eq!(drivers::resealed_manifest(&full), full);
    fuzz(
        &[&empty, &full, b"seg-1-0123456789abcdef"],
        drivers::manifest,
    );
}

#[test]
fn marks_and_texts_of_any_bytes_never_panic() {
    let run = b"12345678\x05\x00ab abc abcd abcab abcabcabc".as_slice();
    let text = "Größe v2.1 a_b/c@d 東京タワー ภาษาไทย e\u{301} naïve's 3.14 #x".as_bytes();
    fuzz(&[run, text], |bytes| {
        drivers::find_marks(bytes);
        drivers::text(bytes);
    });
}

#[test]
fn onnx_files_of_any_bytes_never_panic() {
    let file = drivers::onnx_file();
    let found = Initialisers::read(&file).unwrap();
    assert_eq!(
        found.int8("codes", &[2, 3]).unwrap(),
        [1, 2, 3, 255, 254, 253]
    );
    assert_eq!(found.float32("scale", &[2]).unwrap(), [1.0, 2.0]);
    fuzz(&[&file], drivers::onnx);
}

#[test]
fn folders_with_segments_of_any_bytes_open() {
    let image = image();
    fuzz(&[&image], |bytes| {
        for bytes in [bytes.to_vec(), drivers::resealed_segment(bytes)] {
            let folder = tempfile::tempdir().unwrap();
            drivers::folder(&bytes, folder.path());
        }
    });
}
