//! How long token vectors take: `cargo run --release --example late`.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use vestig_core::kernels::dispatch::Level;
use vestig_core::kernels::max_sim::Tokens;
use vestig_core::kernels::token_vectors::{PIECE_LANES, Pieces};

mod rng;
use rng::Rng;

/// Memories of a pool of 128 with their neighbours, among so many.
const ASKED: usize = 384;
const MEMORIES: usize = 100_000;
const PIECES: usize = 40;
const TOKENS: usize = 13;

fn main() {
    let mut rng = Rng(7);
    let mut code = || (rng.unit() * 255.0 - 127.5) as i8;
    let codes: Vec<i8> = (0..MEMORIES * PIECES * PIECE_LANES)
        .map(|_| code())
        .collect();
    let query: Vec<i8> = (0..TOKENS * PIECE_LANES).map(|_| code()).collect();
    let scales = vec![0.01_f32; MEMORIES * PIECES];
    let tokens = Tokens::new(Pieces {
        ids: &[],
        codes: &query,
        scales: &scales[..TOKENS],
    });
    for level in Level::available() {
        for (name, step) in [("apart", MEMORIES / ASKED), ("together", 1)] {
            let mut least = f64::MAX;
            for round in 0..60 {
                let start = Instant::now();
                let mut best = Vec::new();
                for n in 0..ASKED {
                    let at = (n * step + round * 131) % MEMORIES * PIECES;
                    let pieces = Pieces {
                        ids: &[],
                        codes: &codes[at * PIECE_LANES..(at + PIECES) * PIECE_LANES],
                        scales: &scales[at..at + PIECES],
                    };
                    tokens.best_with(level, pieces, &mut best);
                }
                black_box(&best);
                least = least.min(start.elapsed().as_secs_f64());
            }
            println!("{:12} {name:9} {:.3} ms", level.name(), least * 1e3);
        }
    }
}
