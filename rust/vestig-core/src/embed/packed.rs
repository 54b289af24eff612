//! The weights of the built-in embedder in the order in which the forward pass reads them: packed
//! from the ONNX file that holds the embeddings and the package's file of layers.

use std::path::Path;

use super::encoder::{self, Rest, checked_codes, checked_scales, row_of};
use super::image::{Draft, Image, Plan};
use super::onnx::Initialisers;
use super::pinned::read_pinned;
use super::weights::{HIDDEN, Layer, Norm, PIECES_MAX, Row, VOCABULARY, Weights};
use crate::error::{CoreError, Result};
use crate::segment::map::{bytes_of, cast};

/// Word pieces whose rows have one checksum, and the last of them is filled with zeros.
const BLOCK_WORDS: usize = 32;
const BLOCK_CODES: usize = BLOCK_WORDS * HIDDEN;
const BLOCKS: usize = VOCABULARY.div_ceil(BLOCK_WORDS);
const TOKEN_TYPES: usize = 1;
const FIRST_WORDS: usize = encoder::ARRAYS;

const POSITIONS: usize = 512;

/// SHA-256 of the files that the weights are packed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceHashes {
    /// Of the ONNX file whose embeddings are used.
    pub embeddings: [u8; 32],
    /// Of the file of the layers.
    pub layers: [u8; 32],
}

impl SourceHashes {
    fn plan(&self) -> Plan {
        let block = BLOCK_CODES + BLOCK_WORDS * size_of::<f32>();
        let lengths = encoder::lengths(TOKEN_TYPES).chain([block; BLOCKS]);
        Plan::new(&[self.embeddings, self.layers], lengths)
    }
}

/// Packed weights, mapped or in memory.
pub struct PackedWeights(Image);

impl PackedWeights {
    /// Maps a packed file of the files with these hashes.
    ///
    /// `Io` where it cannot be opened, a symbolic link among them; `Weights` where it is of another
    /// layout, of other files or damaged in its head.
    pub fn map(path: &Path, hashes: &SourceHashes) -> Result<Self> {
        Image::map(path, hashes.plan()).map(Self)
    }

    /// Packs in memory the embeddings of an ONNX file and the layers of a file of them.
    ///
    /// `Io` where one cannot be read; `Invalid` where one has another SHA-256, or what it holds is
    /// not of the model.
    pub fn pack(embeddings: &Path, layers: &Path, hashes: &SourceHashes) -> Result<Self> {
        let onnx = read_pinned(embeddings, &hashes.embeddings, "embeddings")?;
        let layers = read_pinned(layers, &hashes.layers, "layers")?;
        let image = Image::pack(hashes.plan(), |image| {
            let mut rest = Rest::new(&layers);
            encoder::fill_layers(image, &mut rest)?;
            rest.end()?;
            fill_embeddings(image, &Initialisers::read(&onnx)?)
        });
        image.map(Self)
    }

    /// Writes the packed file. False when another process is just doing so.
    pub fn write(&self, path: &Path) -> Result<bool> {
        self.0.write(path)
    }

    /// The whole image, as it lies in the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Weights for PackedWeights {
    fn word(&self, id: u32) -> Result<Row<'_>> {
        let id = id as usize;
        if id >= VOCABULARY {
            return Err(CoreError::Invalid(format!(
                "expected a word piece below {VOCABULARY}, got {id}"
            )));
        }
        let block = self.0.array(FIRST_WORDS + id / BLOCK_WORDS)?;
        let (codes, scales) = block.split_at_checked(BLOCK_CODES).unwrap_or_default();
        row_of(codes, scales, id % BLOCK_WORDS)
    }

    fn position(&self, at: usize) -> Result<Row<'_>> {
        encoder::position(&self.0, at)
    }

    fn token_type(&self, number: usize) -> Result<&[f32; HIDDEN]> {
        encoder::token_type(&self.0, number)
    }

    fn embedding_norm(&self) -> Result<Norm<'_>> {
        encoder::embedding_norm(&self.0)
    }

    fn layer(&self, number: usize) -> Result<Layer<'_>> {
        encoder::layer(&self.0, number)
    }
}

/// The arrays of the embeddings, in the order of the plan.
fn fill_embeddings(image: &mut Draft<'_>, onnx: &Initialisers<'_>) -> Result<()> {
    let embeddings = "inner.embeddings";
    norm_of(image, onnx, &format!("{embeddings}.LayerNorm"))?;
    let types = format!("{embeddings}.token_type_embeddings.weight");
    let types = onnx.float32(&types, &[2, HIDDEN])?;
    image.floats(types.get(..HIDDEN).unwrap_or_default())?;
    let (rows, factors) = rows(onnx, "position", POSITIONS)?;
    image.put(bytes_of(
        rows.get(..PIECES_MAX * HIDDEN).unwrap_or_default(),
    ))?;
    image.floats(factors.get(..PIECES_MAX).unwrap_or_default())?;
    let (rows, factors) = rows_of_words(onnx)?;
    for (rows, factors) in rows.chunks(BLOCK_CODES).zip(factors.chunks(BLOCK_WORDS)) {
        let mut block = bytes_of(rows).to_vec();
        block.resize(BLOCK_CODES, 0);
        block.extend_from_slice(bytes_of(factors));
        image.put(&block)?;
    }
    Ok(())
}

fn rows_of_words<'a>(onnx: &Initialisers<'a>) -> Result<(&'a [i8], Vec<f32>)> {
    rows(onnx, "word", VOCABULARY)
}

fn norm_of(image: &mut Draft<'_>, onnx: &Initialisers<'_>, name: &str) -> Result<()> {
    for part in ["weight", "bias"] {
        image.floats(&onnx.float32(&format!("{name}.{part}"), &[HIDDEN])?)?;
    }
    Ok(())
}

/// The rows of a table of embeddings, and their scales.
fn rows<'a>(onnx: &Initialisers<'a>, table: &str, count: usize) -> Result<(&'a [i8], Vec<f32>)> {
    let name = format!("inner.embeddings.{table}_embeddings.weight");
    let rows = codes(onnx, &format!("{name}_q"), count, HIDDEN)?;
    Ok((rows, scales(onnx, &format!("{name}_scale"), &[count, 1])?))
}

fn codes<'a>(onnx: &Initialisers<'a>, name: &str, rows: usize, columns: usize) -> Result<&'a [i8]> {
    let codes = cast::<i8>(onnx.int8(name, &[rows, columns])?).unwrap_or_default();
    checked_codes(codes, name)
}

/// One factor for each row; the other axis has length 1.
fn scales(onnx: &Initialisers<'_>, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
    checked_scales(onnx.float32(name, shape)?, name)
}
