//! A small store on disk.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use vestig_core::kernels::piece_codes::{CODE_BYTES, OwnedPieces};
use vestig_core::segment::format::{self, Identity};
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::NewRow;

pub fn identity() -> Identity {
    Identity {
        store_uuid: [7; 16],
        dimensions: 4,
        model: "m".into(),
        analyser: "a".into(),
    }
}

pub fn row(number: u8, seq: i64) -> NewRow {
    NewRow {
        id: [number; 16],
        seq,
        wseq: seq,
        content: format!("memory number{number} about rivers"),
        namespace: "default".into(),
        embedding: Some(vec![f32::from(number), 1.0, 2.0, 3.0]),
        lists: [vec!["tag".into()], vec!["manual".into()], vec![], vec![]],
        features: u32::from(number),
        title: Some(format!("plan {number}")),
        pieces: pieces(number % 3),
        ..NewRow::default()
    }
}

pub fn pieces(count: u8) -> Option<OwnedPieces> {
    let ids: Vec<u8> = (0..count)
        .flat_map(|i| (u32::from(i) * 1000).to_le_bytes())
        .collect();
    let codes: Vec<u8> = (0..count).flat_map(|i| [i + 1; CODE_BYTES]).collect();
    OwnedPieces::from_bytes(&ids, &codes).ok()
}

pub fn open(folder: &Path) -> Projection {
    Projection::open(Some(folder.to_path_buf()), identity(), false).unwrap()
}

pub fn filled(folder: &Path) -> Projection {
    let projection = open(folder);
    projection
        .apply(&[row(1, 1), row(2, 2), row(3, 3)], 3, [3; 32])
        .unwrap();
    assert!(projection.publish(false).unwrap() > 0);
    projection
}

pub fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let plain = |path: &PathBuf| {
        format::segment_generation(path.file_name().unwrap().to_str().unwrap()).is_some()
    };
    entries.map(|entry| entry.path()).filter(plain).collect()
}

pub fn segment_file(folder: &Path) -> PathBuf {
    segments(folder).remove(0)
}

pub fn overwrite(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}
