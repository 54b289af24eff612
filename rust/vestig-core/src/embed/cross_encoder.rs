//! A cross-encoder: layers over the word vectors of the embedder, which read two texts together, and
//! a head that gives numbers for them.
//!
//! The layers of all cross-encoders lie in one file. Each has an adapter: what it adds to their
//! matrices, of low rank (Hu et al., "LoRA", 2021), and biases, norms and head of its own.

use std::ops::Range;
use std::path::Path;

use super::adapter;
use super::encoder::{self, Rest};
use super::forward::{Hidden, Text, embed_each_with};
use super::image::{Image, Plan};
use super::packed::PackedWeights;
use super::pinned::read_pinned;
use super::weights::{HIDDEN, Layer, Norm, PIECES_MAX, Row, Weights};
use crate::error::{CoreError, Result};
use crate::kernels::dispatch::Level;
use crate::segment::map::bytes_of;

const TOKEN_TYPES: usize = 2;
const HEAD_WEIGHTS: usize = encoder::ARRAYS;
const HEAD_BIASES: usize = HEAD_WEIGHTS + 1;
/// State of the first piece, product and difference of the means of both parts.
const FEATURES: usize = 3 * HIDDEN;

/// Word pieces that are read together, and which of them are those of the two texts.
pub(super) struct Parts<'a> {
    pub(super) text: Text<'a>,
    pub(super) first: Range<usize>,
    pub(super) second: Range<usize>,
}

/// Weights of a cross-encoder without the word vectors, mapped or in memory.
pub struct CrossEncoderWeights(Image);

/// SHA-256 of the file of the layers, and of that of the adapter.
#[derive(Debug, Clone, Copy)]
pub struct Sources {
    /// Of the file of the layers.
    pub layers: [u8; 32],
    /// Of the file of the adapter.
    pub adapter: [u8; 32],
}

/// Paths of the file of the layers, and of that of the adapter.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// Of the layers.
    pub layers: &'a Path,
    /// Of the adapter.
    pub adapter: &'a Path,
}

/// An image of layers, embeddings and a head of so many outputs.
fn plan(sources: &Sources, outputs: usize) -> Plan {
    let floats = size_of::<f32>();
    let head = [outputs * FEATURES * floats, outputs * floats];
    let hashes = [sources.layers, sources.adapter];
    Plan::new(&hashes, encoder::lengths(TOKEN_TYPES).chain(head))
}

impl CrossEncoderWeights {
    /// Maps a packed file of the files with these hashes, with a head of so many outputs. All of it is
    /// checked, for every text reads all of it.
    ///
    /// `Io` where it cannot be opened, a symbolic link among them; `Weights` where it is of another
    /// layout, of other files or damaged.
    pub fn map(path: &Path, sources: &Sources, outputs: usize) -> Result<Self> {
        let image = Image::map(path, plan(sources, outputs))?;
        image.check()?;
        Ok(Self(image))
    }

    /// Packs in memory the layers with the adapter, whose file ends with a head of so many outputs.
    ///
    /// `Io` where a file cannot be read; `Invalid` where it has another SHA-256, or what it holds is
    /// not of the model.
    pub fn pack(files: Files<'_>, sources: &Sources, outputs: usize) -> Result<Self> {
        let layers = read_pinned(files.layers, &sources.layers, "layers of cross-encoders")?;
        let adapter = read_pinned(files.adapter, &sources.adapter, "an adapter of them")?;
        Image::pack(plan(sources, outputs), |image| {
            let (mut layers, mut adapter) = (Rest::new(&layers), Rest::new(&adapter));
            adapter::fill_layers(image, &mut layers, &mut adapter)?;
            for rows in [1, 1, TOKEN_TYPES] {
                image.floats(&layers.floats(rows * HIDDEN)?)?;
            }
            let positions = layers.codes(PIECES_MAX * HIDDEN, "positions")?;
            image.put(bytes_of(positions))?;
            image.floats(&layers.scales(PIECES_MAX, "positions")?)?;
            image.floats(&adapter.floats(outputs * FEATURES)?)?;
            image.floats(&adapter.floats(outputs)?)?;
            adapter.end()
        })
        .map(Self)
    }

    /// Writes the packed file. False when another process is just doing so.
    pub fn write(&self, path: &Path) -> Result<bool> {
        self.0.write(path)
    }

    /// The outputs for each of some texts, in order, on up to `threads` threads by a named level.
    /// Neither level nor threads nor other texts change a bit.
    ///
    /// `Weights` where the embedder's weights are damaged, `Invalid` for an unknown word piece or a
    /// head of other outputs.
    pub(super) fn read<const OUTPUTS: usize>(
        &self,
        level: Level,
        words: &PackedWeights,
        texts: &[Parts<'_>],
        threads: usize,
    ) -> Result<Vec<[f32; OUTPUTS]>> {
        let (rows, biases) = (self.0.values(HEAD_WEIGHTS)?, self.0.values(HEAD_BIASES)?);
        let head: Option<(&[_; OUTPUTS], &[f32; OUTPUTS])> =
            rows.try_into().ok().zip(biases.try_into().ok());
        let Some((rows, biases)) = head else {
            let text = format!("expected a head of {OUTPUTS} outputs, got {}", rows.len());
            return Err(CoreError::Invalid(text));
        };
        let weights = WithWords {
            own: &self.0,
            words,
        };
        let all: Vec<_> = texts.iter().map(|parts| parts.text).collect();
        embed_each_with(level, &weights, &all, threads, |number, hidden| {
            let features = features(hidden, &texts[number]);
            std::array::from_fn(|at| weighted(&features, &rows[at], biases[at]))
        })
    }
}

/// State of the first piece; product and absolute difference of the means of both parts.
fn features(hidden: &Hidden<'_>, parts: &Parts<'_>) -> [f64; FEATURES] {
    let rows = hidden.rows();
    let of = |part: &Range<usize>| mean(rows.get(part.clone()).unwrap_or_default());
    let (one, other) = (of(&parts.first), of(&parts.second));
    let first = rows.first().copied().unwrap_or([0.0; HIDDEN]);
    std::array::from_fn(|i| match (i / HIDDEN, i % HIDDEN) {
        (0, j) => f64::from(first[j]),
        (1, j) => one[j] * other[j],
        (_, j) => (one[j] - other[j]).abs(),
    })
}

/// The mean of rows, added in order; zeros for none.
fn mean(rows: &[[f32; HIDDEN]]) -> [f64; HIDDEN] {
    let mut mean = [0.0; HIDDEN];
    for row in rows {
        for (sum, value) in mean.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    mean.map(|sum| sum / rows.len().max(1) as f64)
}

/// Features times weights, added in order behind the bias.
fn weighted(features: &[f64; FEATURES], weights: &[f32; FEATURES], bias: f32) -> f32 {
    let products = features.iter().zip(weights).map(|(x, w)| x * f64::from(*w));
    products.fold(f64::from(bias), |sum, product| sum + product) as f32
}

/// A cross-encoder's weights with the word vectors of the embedder.
struct WithWords<'a> {
    own: &'a Image,
    words: &'a PackedWeights,
}

impl Weights for WithWords<'_> {
    fn word(&self, id: u32) -> Result<Row<'_>> {
        self.words.word(id)
    }

    fn position(&self, at: usize) -> Result<Row<'_>> {
        encoder::position(self.own, at)
    }

    fn token_type(&self, number: usize) -> Result<&[f32; HIDDEN]> {
        encoder::token_type(self.own, number)
    }

    fn embedding_norm(&self) -> Result<Norm<'_>> {
        encoder::embedding_norm(self.own)
    }

    fn layer(&self, number: usize) -> Result<Layer<'_>> {
        encoder::layer(self.own, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_the_first_state_and_the_means_of_both_parts() {
        let row = |value: f32| [value; HIDDEN];
        let text = Text::from(&[0; 6][..]);
        let of = |rows: &[[f32; HIDDEN]], first, second| {
            let found = features(
                &Hidden::new(rows),
                &Parts {
                    text,
                    first,
                    second,
                },
            );
            (found[0], found[HIDDEN], found[2 * HIDDEN])
        };
        let rows = [9.0, 2.0, 4.0, 7.0, 5.0, 8.0].map(row);
        assert_eq!(of(&rows, 1..3, 4..5), (9.0, 15.0, 2.0));
        assert_eq!(of(&rows, 1..1, 5..9), (9.0, 0.0, 0.0));
    }
}
