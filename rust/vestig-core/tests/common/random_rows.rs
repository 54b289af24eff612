//! Random rows in projections that need no folder.
#![allow(dead_code)]

use std::path::Path;

use vestig_core::kernels::piece_codes::{CODE_BYTES, OwnedPieces, QueryPieces};
use vestig_core::segment::format::Identity;
use vestig_core::segment::{EdgeVersion, EventRow, NO_TIME};
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::NewRow;
use vestig_core::words;

const WORDS: [&str; 12] = [
    "cache", "token", "the", "deploy", "server", "paris", "berlin", "coffee", "v2.1", "auth",
    "night", "river",
];

/// Numbers for tests: a fixed linear congruence.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }

    pub fn vector(&mut self, dimensions: usize, coarse: bool) -> Vec<f32> {
        let value = |rng: &mut Self| match coarse {
            true => rng.below(3) as f32 - 1.0,
            false => rng.below(2001) as f32 / 1000.0 - 1.0,
        };
        (0..dimensions).map(|_| value(self)).collect()
    }

    fn edges(&mut self, number: u64, seq: i64) -> Vec<EdgeVersion> {
        let edge = |rng: &mut Self, i: u64| {
            let end = rng.below(number + 3);
            let mut id = [0; 16];
            id[..8].copy_from_slice(&(number * 8 + i).to_le_bytes());
            let mut other = [0; 16];
            other[..8].copy_from_slice(&end.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
            EdgeVersion {
                id,
                end: other,
                kind: 1,
                weight: rng.below(100) as f64 / 100.0,
                confidence: None,
                created: seq * 1000,
                expired: NO_TIME,
            }
        };
        (0..self.below(4)).map(|i| edge(self, i)).collect()
    }

    /// None, or up to four.
    pub fn pieces(&mut self) -> Option<OwnedPieces> {
        let count = self.below(5) as usize;
        let ids: Vec<u8> = (0..count)
            .flat_map(|_| (self.below(9) as u32).to_le_bytes())
            .collect();
        // No last byte of a scale is as large as that of an infinite one.
        let codes: Vec<u8> = (0..count * CODE_BYTES)
            .map(|_| self.below(0x7C) as u8)
            .collect();
        OwnedPieces::from_bytes(&ids, &codes).ok()
    }

    /// None, or up to four of a query.
    pub fn query_pieces(&mut self) -> Option<QueryPieces> {
        let count = self.below(5) as usize;
        let ids = (0..count).map(|_| self.below(9) as u32).collect();
        let codes = (0..count).map(|_| [(); 256].map(|()| self.below(15) as i8 - 7));
        let codes = codes.collect();
        let steps = (0..count).map(|_| self.below(100) as f64 / 700.0).collect();
        QueryPieces::new(ids, codes, steps).ok()
    }

    pub fn text(&mut self) -> String {
        let count = self.below(12) + 1;
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(12) as usize]).collect();
        words.join(" ")
    }

    pub fn maybe(&mut self, texts: &[&str]) -> Option<String> {
        let at = self.below(texts.len() as u64 + 1) as usize;
        texts.get(at).map(|text| (*text).to_owned())
    }

    pub fn row(&mut self, number: u64, seq: i64, dimensions: usize, coarse: bool) -> NewRow {
        let id = id(number);
        let embedded = self.below(10) > 0;
        let events = (0..self.below(4)).map(|row| EventRow {
            kind: [0, 2, 3][self.below(3) as usize],
            occurred: self.below(10_000_000_000_000) as i64,
            recorded: seq,
            seq,
            row: row as i64,
        });
        let events = events.collect();
        NewRow {
            id,
            seq,
            wseq: seq,
            content: self.text(),
            author: self.maybe(&["Anna", "Bob"]),
            heading: self.maybe(&["Night", "Paris"]),
            namespace: if self.below(8) == 0 {
                "other".into()
            } else {
                "default".into()
            },
            scope: self.maybe(&["work"]),
            kind: u8::from(self.below(9) == 0),
            status: [0, 0, 0, 0, 1, 3][self.below(6) as usize],
            role: self.maybe(&["user", "assistant"]),
            session: self.maybe(&["s1", "s2"]),
            source_row: (self.below(5) == 0).then_some((number / 3) as i64),
            sequence: (self.below(9) > 0).then_some((number / 2) as i64),
            origin: self.below(4) as u8,
            stability: self.below(4) as u8,
            pinned: false,
            undated: false,
            t_valid: seq * 1000,
            t_invalid: None,
            t_created: seq * 1000,
            t_expired: None,
            embedding: embedded.then(|| self.vector(dimensions, coarse)),
            lists: [
                self.maybe(&["x", "y"]).into_iter().collect(),
                vec!["manual".into()],
                vec![],
                self.maybe(&["cache", "river"]).into_iter().collect(),
            ],
            windows: vec![(None, Some(seq)), (Some(seq), None)][..self.below(3) as usize].to_vec(),
            edges: self.edges(number, seq),
            questions: (0..self.below(2))
                .map(|_| self.vector(dimensions, coarse))
                .collect(),
            names: vec![],
            events,
            features: self.below(1 << 16) as u32,
            title: self.maybe(&["river plan", "cache"]),
            pieces: self.pieces(),
        }
    }
}

/// Of the memory of a number; in another order than rows.
pub fn id(number: u64) -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    id
}

pub fn identity(dimensions: usize) -> Identity {
    Identity {
        store_uuid: *b"0123456789abcdef",
        dimensions: dimensions as u32,
        model: "test".into(),
        analyser: words::analyser_version(),
    }
}

pub fn open(folder: Option<&Path>, dimensions: usize) -> Projection {
    Projection::open(folder.map(Path::to_path_buf), identity(dimensions), false).unwrap()
}
