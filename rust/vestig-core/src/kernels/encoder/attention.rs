//! Attention of one head over one text, in float32: lanes run over outputs, what is summed runs
//! in order.

use super::functions::exp;
use super::rows::fold;
use super::{HEAD, HIDDEN};
use crate::kernels::lanes::{larger, largest};

const LANES: usize = 16;
/// Queries that are weighed together.
const QUERIES: usize = 4;
/// 1 / √32.
const SCALE: f32 = 0.176_776_69;

/// Buffers of a head.
#[derive(Default)]
pub(super) struct Heads {
    /// Keys, a line of lanes for each of the 32 values.
    keys: Vec<[f32; LANES]>,
    values: Vec<[f32; HEAD]>,
    weights: Vec<[f32; LANES]>,
}

/// Replaces the part of head `head` in `queries` by its attention over keys and values.
#[inline(always)]
pub(super) fn attend(
    head: usize,
    queries: &mut [[f32; HIDDEN]],
    keys: &[[f32; HIDDEN]],
    values: &[[f32; HIDDEN]],
    heads: &mut Heads,
) {
    let pieces = queries.len();
    let lines = pieces.div_ceil(LANES);
    let first = head * HEAD;
    heads.keys.clear();
    heads.keys.resize(lines * HEAD, [0.0; LANES]);
    for (j, row) in keys.iter().enumerate() {
        let line = &mut heads.keys[j / LANES * HEAD..][..HEAD];
        for (lanes, value) in line.iter_mut().zip(&row[first..]) {
            lanes[j % LANES] = *value;
        }
    }
    heads.values.clear();
    let parts = values.iter().map(|row| row[first..].first_chunk::<HEAD>());
    heads.values.extend(parts.flatten());
    heads.weights.resize(lines * QUERIES, [0.0; LANES]);
    let (fours, ones) = queries.as_chunks_mut::<QUERIES>();
    for four in fours {
        attend_rows(first, four, heads);
    }
    for one in ones.as_chunks_mut::<1>().0 {
        attend_rows(first, one, heads);
    }
}

#[inline(always)]
fn attend_rows<const R: usize>(first: usize, rows: &mut [[f32; HIDDEN]; R], heads: &mut Heads) {
    let mut queries = [[0.0; HEAD]; R];
    for (query, row) in queries.iter_mut().zip(rows.iter()) {
        for (value, from) in query.iter_mut().zip(&row[first..]) {
            *value = from * SCALE;
        }
    }
    let pieces = heads.values.len();
    let lines = heads.keys.len() / HEAD;
    let weights = &mut heads.weights[..lines * R];
    score(&queries, &heads.keys, weights);
    let mut sums = [0.0; R];
    for (row, sum) in sums.iter_mut().enumerate() {
        *sum = soft_max(row, R, weights, pieces);
    }
    for half in 0..HEAD / LANES {
        let mut lanes = [[0.0_f32; LANES]; R];
        let by_line = weights.chunks_exact(R).zip(heads.values.chunks(LANES));
        for (weights, values) in by_line {
            for (j, value) in values.iter().enumerate() {
                let value = &value.as_chunks::<LANES>().0[half];
                for (lanes, weights) in lanes.iter_mut().zip(weights) {
                    for (lane, value) in lanes.iter_mut().zip(value) {
                        *lane += weights[j] * value;
                    }
                }
            }
        }
        for ((row, lanes), sum) in rows.iter_mut().zip(&lanes).zip(sums) {
            for (out, lane) in row[first + half * LANES..].iter_mut().zip(lanes) {
                *out = lane / sum;
            }
        }
    }
}

/// Scores of R queries: for each line of 16 keys one line for each query.
#[inline(always)]
fn score<const R: usize>(
    queries: &[[f32; HEAD]; R],
    keys: &[[f32; LANES]],
    scores: &mut [[f32; LANES]],
) {
    for (keys, scores) in keys
        .as_chunks::<HEAD>()
        .0
        .iter()
        .zip(scores.as_chunks_mut::<R>().0)
    {
        let mut lanes = [[0.0_f32; LANES]; R];
        for (d, key) in keys.iter().enumerate() {
            for (lanes, query) in lanes.iter_mut().zip(queries) {
                for (lane, key) in lanes.iter_mut().zip(key) {
                    *lane += query[d] * key;
                }
            }
        }
        *scores = lanes;
    }
}

/// Exponentials of the scores of one query less their maximum, and their sum in 16 lanes.
/// Lanes behind the last piece become 0.
#[inline(always)]
fn soft_max(row: usize, step: usize, scores: &mut [[f32; LANES]], pieces: usize) -> f32 {
    let mut most = [f32::NEG_INFINITY; LANES];
    let last = scores.len() / step - 1;
    for (line, scores) in scores[row..].iter_mut().step_by(step).enumerate() {
        if line == last {
            scores[pieces - last * LANES..].fill(f32::NEG_INFINITY);
        }
        most = larger(&most, scores);
    }
    let most = largest(most);
    let mut sums = [0.0_f32; LANES];
    for (line, scores) in scores[row..].iter_mut().step_by(step).enumerate() {
        for score in scores.iter_mut() {
            *score = exp(*score - most);
        }
        if line == last {
            scores[pieces - last * LANES..].fill(0.0);
        }
        for (sum, score) in sums.iter_mut().zip(scores.iter()) {
            *sum += score;
        }
    }
    fold(sums)
}
