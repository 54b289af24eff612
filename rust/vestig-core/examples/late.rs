//! How long late interaction takes: `cargo run --release --example late`.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use vestig_core::kernels::dispatch::Level;
use vestig_core::kernels::max_sim::Tokens;
use vestig_core::kernels::piece_codes::{CODE_BITS, Pieces, QueryPieces, SIGN_BYTES};

mod rng;
use rng::Rng;

/// Memories of a pool of 128 with their neighbours, among so many.
const ASKED: usize = 640;
const MEMORIES: usize = 100_000;
const PIECES: usize = 40;
const TOKENS: usize = 13;

fn main() {
    let mut rng = Rng(7);
    let signs: Vec<_> = (0..MEMORIES * PIECES)
        .map(|_| [(); SIGN_BYTES].map(|()| (rng.unit() * 256.0) as u8))
        .collect();
    let codes = (0..TOKENS).map(|_| [(); CODE_BITS].map(|()| (rng.unit() * 15.0) as i8 - 7));
    let Ok(query) = QueryPieces::new(vec![0; TOKENS], codes.collect(), vec![0.1; TOKENS]) else {
        unreachable!("codes lie between -7 and 7");
    };
    let mut tokens = Tokens::new(&query, |_| true);
    let scales = vec![0x2800; MEMORIES * PIECES];
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
                        signs: &signs[at..at + PIECES],
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
