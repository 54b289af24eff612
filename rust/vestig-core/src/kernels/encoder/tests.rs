//! Every level against integer sums written down naively, and against each other.

use super::rows::quantise;
use super::*;
use crate::kernels::dispatch::encoder_sums;

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn weights(&mut self, count: usize) -> Vec<i8> {
        (0..count).map(|_| self.next() as i8).collect()
    }

    fn floats(&mut self, count: usize, size: f32) -> Vec<f32> {
        let unit = |x: u64| (x >> 40) as f32 / (1 << 23) as f32 - 1.0;
        (0..count).map(|_| size * unit(self.next())).collect()
    }

    fn rows(&mut self, count: usize, size: f32) -> Vec<[f32; HIDDEN]> {
        let flat = self.floats(count * HIDDEN, size);
        flat.as_chunks::<HIDDEN>().0.to_vec()
    }
}

/// Sums of rows of codes over 16 columns of weights, whose rows lie one behind the other.
fn naive(codes: &[i16], weights: &[i8], inputs: usize) -> Vec<[i32; COLUMNS]> {
    let sum = |row: &[i16], column: usize| {
        let products = row.iter().zip(weights[column..].iter().step_by(COLUMNS));
        products
            .map(|(a, b)| i64::from(*a) * i64::from(*b))
            .sum::<i64>()
    };
    let rows = codes.chunks_exact(inputs);
    rows.map(|row| std::array::from_fn(|column| i32::try_from(sum(row, column)).unwrap()))
        .collect()
}

fn assert_sums(codes: &[i16], weights: &[i8], inputs: usize) {
    let blocks = pack(weights, inputs, COLUMNS).unwrap();
    let wanted = naive(codes, weights, inputs);
    for level in Level::available() {
        let (mut rows, mut codes) = (wanted.as_slice(), codes);
        while !rows.is_empty() {
            let mut sums = [[0; COLUMNS]; TILE_ROWS_MAX];
            let count = encoder_sums(level, codes, &blocks, &mut sums);
            assert_eq!(sums[..count], rows[..count], "{}", level.name());
            (rows, codes) = (&rows[count..], &codes[count * inputs..]);
        }
    }
}

#[test]
fn every_level_sums_exactly_for_every_number_of_rows() {
    let mut random = Random(1);
    for inputs in [4, 8, 132] {
        for rows in 1..=2 * TILE_ROWS_MAX + 1 {
            let codes: Vec<i16> = (0..rows * inputs)
                .map(|_| (random.next() % 16_383) as i16 - 8191)
                .collect();
            assert_sums(&codes, &random.weights(inputs * COLUMNS), inputs);
        }
    }
}

#[test]
fn the_largest_sums_do_not_overflow() {
    for code in [8191_i16, -8191] {
        for weight in [127_i8, -127, -128] {
            let weights = vec![weight; INTERMEDIATE * COLUMNS];
            assert_sums(&vec![code; INTERMEDIATE * 13], &weights, INTERMEDIATE);
        }
    }
}

struct OwnMatrix(usize, Vec<[i8; 64]>, Vec<f32>, Vec<f32>);

impl OwnMatrix {
    fn new(random: &mut Random, inputs: usize, columns: usize) -> Self {
        let blocks = pack(&random.weights(inputs * columns), inputs, columns).unwrap();
        let (scales, biases) = (random.floats(columns, 2e-3), random.floats(columns, 0.2));
        Self(inputs, blocks, scales, biases)
    }

    fn view(&self) -> Matrix<'_> {
        Matrix::new(self.0, &self.1, &self.2, &self.3).unwrap()
    }
}

/// The rows after one layer, by a level.
fn run(level: Level, rows: &[[f32; HIDDEN]], texts: &[Range<usize>]) -> Vec<u32> {
    let random = &mut Random(2);
    let squares: [OwnMatrix; 4] = std::array::from_fn(|_| OwnMatrix::new(random, HIDDEN, HIDDEN));
    let up = OwnMatrix::new(random, HIDDEN, INTERMEDIATE);
    let down = OwnMatrix::new(random, INTERMEDIATE, HIDDEN);
    let floats = random.rows(4, 1.0);
    let norm = |at: usize| Norm {
        weight: &floats[at],
        bias: &floats[at + 1],
    };
    let [query, key, value, output] = squares.each_ref().map(OwnMatrix::view);
    let layer = Layer {
        query,
        key,
        value,
        output,
        attention_norm: norm(0),
        up: up.view(),
        down: down.view(),
        output_norm: norm(2),
    };
    // What a longer text left in the buffers is never read.
    let mut states = States {
        rows: random.rows(rows.len() + 1, 50.0),
        ..States::default()
    };
    states.layer(level, &layer, std::slice::from_ref(&(0..rows.len() + 1)));
    states.rows = rows.to_vec();
    states.layer(level, &layer, texts);
    states
        .rows
        .as_flattened()
        .iter()
        .map(|x| x.to_bits())
        .collect()
}

#[test]
fn every_level_has_the_same_bits_and_texts_together_have_those_alone() {
    let mut rows = Random(3).rows(7, 3.0);
    rows[4] = [0.0; HIDDEN];
    rows[3][7] = 1e4;
    rows[5] = [1e-44; HIDDEN];
    let texts = [0..1, 1..6, 6..7];
    let wanted = run(Level::PORTABLE, &rows, &texts);
    for level in Level::available() {
        assert_eq!(run(level, &rows, &texts), wanted, "{}", level.name());
    }
    let alone = texts.iter().flat_map(|text| {
        let rows = &rows[text.clone()];
        run(Level::best(), rows, std::slice::from_ref(&(0..rows.len())))
    });
    assert!(alone.eq(wanted));
}

#[test]
fn codes_round_half_to_even_and_stay_within_14_bits() {
    let mut values = [0.0; 64];
    values[..6].copy_from_slice(&[8191.0, -8191.0, 0.5, 1.5, -2.5, 3.5]);
    let (mut codes, mut scales) = ([9; 128], [9.0; 2]);
    let zeros = [0.0; 64];
    quantise([values, zeros].as_flattened(), 64, &mut codes, &mut scales);
    assert_eq!(codes[..7], [8191, -8191, 0, 2, -2, 4, 0]);
    assert_eq!(codes[64..], [0; 64]);
    assert_eq!(scales, [1.0, 0.0]);
    // 11,000 of the smallest numbers: their scale is one of them.
    let tiny = [f32::from_bits(11_000); 64];
    quantise(&tiny, 64, &mut codes, &mut scales);
    assert_eq!(codes[..64], [8191; 64]);
}

#[test]
fn matrices_refuse_lengths_that_do_not_fit() {
    assert!(pack(&[0; 64], 4, 16).is_ok());
    for (count, inputs, columns) in [(63, 4, 16), (64, 8, 8), (96, 6, 16), (0, 4, 0)] {
        assert!(pack(&vec![0; count], inputs, columns).is_err());
    }
    let (blocks, floats) = ([[0; 64]; 2], [0.0; 32]);
    assert!(Matrix::new(8, &blocks, &floats[..16], &floats[..16]).is_ok());
    assert!(Matrix::new(4, &blocks, &floats, &floats).is_ok());
    for (inputs, scales, biases) in [(4, 16, 16), (8, 16, 32), (0, 0, 0), (8, 0, 0), (2, 64, 64)] {
        let floats = [0.0; 64];
        assert!(Matrix::new(inputs, &blocks, &floats[..scales], &floats[..biases]).is_err());
    }
}
