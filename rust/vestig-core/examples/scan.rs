//! Times the exact and the 8-bit scan per instruction level: `cargo run --release --example scan`.
use std::hint::black_box;
use std::time::Instant;

use vestig_core::kernels::dispatch::Level;
use vestig_core::kernels::dot::{dot_rows_with, padded, unit};
use vestig_core::kernels::quantised::{QuantisedQuery, approx_rows_with, quantise_row};

const DIMENSIONS: usize = 384;

fn vector(seed: &mut u64, out: &mut [f32]) {
    let mut raw = vec![0.0f32; DIMENSIONS];
    for value in &mut raw {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *value = (*seed >> 40) as f32 / (1 << 23) as f32 - 1.0;
    }
    unit(&raw, out);
}

fn median(mut run: impl FnMut(), times: usize) -> f64 {
    let mut samples: Vec<f64> = (0..times)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    samples[times / 2]
}

fn main() {
    let stride = padded(DIMENSIONS);
    let mut seed = 42;
    for n in [20usize, 200, 1_000, 10_000, 100_000] {
        let mut rows = vec![0.0f32; n * stride];
        let mut codes = vec![0i8; n * stride];
        let (mut scales, mut errors) = (Vec::new(), Vec::new());
        for (row, codes) in rows.chunks_mut(stride).zip(codes.chunks_mut(stride)) {
            vector(&mut seed, row);
            let (scale, error) = quantise_row(row, codes);
            scales.push(scale);
            errors.push(error);
        }
        let mut query = vec![0.0f32; stride];
        vector(&mut seed, &mut query);
        let coded = QuantisedQuery::new(&query);
        let (mut exact, mut approx) = (vec![0.0f32; n], vec![0.0f32; n]);
        let times = (2_000_000 / n).clamp(21, 5_000);
        for level in Level::available() {
            let a = median(
                || dot_rows_with(level, &query, &rows, stride, black_box(&mut exact)),
                times,
            );
            let b = median(
                || approx_rows_with(level, &coded, &codes, &scales, black_box(&mut approx)),
                times,
            );
            let per_row = 1e9 / n as f64;
            println!(
                "{n:>7} {:<12} exact {:6.1} ns/row {:8.3} ms   8-bit {:6.1} ns/row {:8.3} ms",
                level.name(),
                a * per_row,
                a * 1e3,
                b * per_row,
                b * 1e3
            );
        }
        let worst = errors
            .iter()
            .fold(0.0f32, |most, &e| most.max(coded.bound(e)));
        let best = exact.iter().fold(-1.0f32, |most, &x| most.max(x));
        let mut lows: Vec<f32> = approx
            .iter()
            .zip(&errors)
            .map(|(a, &e)| a - coded.bound(e))
            .collect();
        lows.sort_by(|a, b| b.total_cmp(a));
        let kept = approx
            .iter()
            .zip(&errors)
            .filter(|(a, e)| **a + coded.bound(**e) >= lows[9.min(n - 1)])
            .count();
        println!(
            "        largest bound {worst:.5}, best cosine {best:.4}, rows kept for k = 10: {kept}"
        );
    }
}
