//! The weights of the built-in embedder in the order in which the forward pass reads them: packed
//! from the files of its layers and of its embeddings, kept in a file of the user's cache folder,
//! mapped by every process (docs/format.md, "Packed weights").
//!
//! **Invariant** The bytes are a function of the file of layers, which names the SHA-256 of the
//! embeddings, and of [`LAYOUT`] alone. The head is checked when the file is mapped, an array when
//! it is first read.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::onnx::Initialisers;
use super::pinned::read_pinned;
use super::weights::{HIDDEN, INTERMEDIATE, LAYERS, Layer, Matrix, Norm, PIECES_MAX, Row};
use super::weights::{VOCABULARY, Weights, pack};
use crate::error::{CoreError, Result};
use crate::segment::map::{Held, Plain, Region, bytes_of, cast};
use crate::snapshot::writer::{open_file, replace_file};

/// Version of the layout: another one has other arrays, or the same in another order.
pub const LAYOUT: u32 = 1;
const MAGIC: [u8; 8] = *b"VESTIGWT";
/// Magic, layout, number of checksums, length of the file, SHA-256 of the file of layers.
const HEAD_FIXED: usize = 8 + 4 + 4 + 8 + 32;
const ALIGNMENT: usize = 64;
/// Word pieces whose rows have one checksum, and the last of them is filled with zeros.
const BLOCK_WORDS: usize = 32;
const BLOCK_CODES: usize = BLOCK_WORDS * HIDDEN;
const BLOCKS: usize = VOCABULARY.div_ceil(BLOCK_WORDS);

/// Inputs and columns of the matrices of a layer, in their order.
const MATRICES: [(usize, usize); 6] = [
    (HIDDEN, HIDDEN),
    (HIDDEN, HIDDEN),
    (HIDDEN, HIDDEN),
    (HIDDEN, HIDDEN),
    (HIDDEN, INTERMEDIATE),
    (INTERMEDIATE, HIDDEN),
];
/// Each matrix has codes, scales and biases; each of both norms has weights and biases.
const LAYER_ARRAYS: usize = MATRICES.len() * 3 + 4;
const FIRST_NORM: usize = MATRICES.len() * 3;
const EMBEDDING_NORM: usize = LAYERS * LAYER_ARRAYS;
const TOKEN_TYPE: usize = EMBEDDING_NORM + 2;
const POSITION_CODES: usize = TOKEN_TYPE + 1;
const POSITION_SCALES: usize = POSITION_CODES + 1;
const FIRST_WORDS: usize = POSITION_SCALES + 1;
const ARRAYS: usize = FIRST_WORDS + BLOCKS;

/// Names of the matrices and norms of a layer, in their order.
const DENSE: [&str; 6] = [
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
];
const NORMS: [&str; 2] = ["attention.output.LayerNorm", "output.LayerNorm"];
/// Initialiser of the layers: the SHA-256 of the ONNX file whose embeddings belong to them.
const EMBEDDINGS_SHA256: &str = "embeddings_sha256";
const POSITIONS: usize = 512;

fn unusable(what: impl Into<String>) -> CoreError {
    CoreError::Weights(what.into())
}

/// Bytes of each array, in order.
fn lengths() -> impl Iterator<Item = usize> {
    let floats = size_of::<f32>();
    let layer = MATRICES
        .into_iter()
        .flat_map(move |(inputs, columns)| [inputs * columns, columns * floats, columns * floats])
        .chain([HIDDEN * floats; 4]);
    std::iter::repeat_n(layer, LAYERS)
        .flatten()
        .chain([HIDDEN * floats; 3])
        .chain([PIECES_MAX * HIDDEN, PIECES_MAX * floats])
        .chain([BLOCK_CODES + BLOCK_WORDS * floats; BLOCKS])
}

/// Where each array lies, and how long the file is.
fn places() -> (Vec<Range<usize>>, usize) {
    let mut end = HEAD_FIXED + (ARRAYS + 1) * size_of::<u32>();
    let place = |length| {
        let start = end.next_multiple_of(ALIGNMENT);
        end = start + length;
        start..end
    };
    let places: Vec<_> = lengths().map(place).collect();
    (places, end)
}

/// Packed weights, mapped or in memory.
pub struct PackedWeights {
    region: Region,
    places: Vec<Range<usize>>,
    /// True if the checksum of an array has been compared.
    sound: Vec<AtomicBool>,
}

impl PackedWeights {
    /// Maps a packed file of the layers with this SHA-256.
    ///
    /// `Io` where it cannot be opened, a symbolic link among them; `Weights` where it is of another
    /// layout, of other layers or damaged in its head.
    pub fn map(path: &Path, sha256: &[u8; 32]) -> Result<Self> {
        let region = Region::map_unlocked(open_file(path)?)?;
        let (places, length) = places();
        check_head(region.bytes(), length, sha256)?;
        let sound = (0..ARRAYS).map(|_| AtomicBool::new(false)).collect();
        Ok(Self {
            region,
            places,
            sound,
        })
    }

    /// Packs weights in memory: the layers of one ONNX file and the embeddings of another.
    ///
    /// `Io` where one cannot be read; `Invalid` where the layers have another SHA-256, the
    /// embeddings not the one that the layers name, or initialisers are not those of the model.
    pub fn pack(layers: &Path, embeddings: &Path, sha256: &[u8; 32]) -> Result<Self> {
        let layers = read_pinned(layers, sha256, "layers")?;
        let layers = Initialisers::read(&layers)?;
        let named: &[u8; 32] = layers
            .int8(EMBEDDINGS_SHA256, &[32])?
            .first_chunk()
            .ok_or_else(|| CoreError::Invalid("the layers name no embeddings".into()))?;
        let embeddings = read_pinned(embeddings, named, "embeddings")?;
        let (places, length) = places();
        let mut image = Image {
            held: Held::zeroed(length),
            places: &places,
            next: 0,
        };
        fill(&mut image, &layers, &Initialisers::read(&embeddings)?)?;
        let held = sealed(image.held, &places, sha256);
        Ok(Self {
            region: Region::Held(held),
            places,
            sound: (0..ARRAYS).map(|_| AtomicBool::new(true)).collect(),
        })
    }

    /// Writes the packed file. False when another process is just doing so.
    pub fn write(&self, path: &Path) -> Result<bool> {
        Ok(replace_file(path, self.bytes())?)
    }

    /// The whole image, as it lies in the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.region.bytes()
    }

    fn array(&self, number: usize) -> Result<&[u8]> {
        let place = self.places.get(number).cloned();
        let bytes = place.and_then(|place| self.bytes().get(place));
        let bytes = bytes.ok_or_else(|| unusable(format!("it has no array {number}")))?;
        let sound = self.sound.get(number);
        if !sound.is_some_and(|sound| sound.load(Ordering::Relaxed)) {
            if checksum_of(self.bytes(), number) != Some(crc32fast::hash(bytes)) {
                return Err(unusable(format!("the checksum of array {number} is wrong")));
            }
            if let Some(sound) = sound {
                sound.store(true, Ordering::Relaxed);
            }
        }
        Ok(bytes)
    }

    fn values<T: Plain>(&self, number: usize) -> Result<&[T]> {
        cast(self.array(number)?).ok_or_else(|| unusable(format!("array {number} is cut")))
    }

    fn row(&self, number: usize) -> Result<&[f32; HIDDEN]> {
        let rows = self.values::<[f32; HIDDEN]>(number)?;
        rows.first()
            .ok_or_else(|| unusable(format!("array {number} is cut")))
    }

    fn norm(&self, number: usize) -> Result<Norm<'_>> {
        Ok(Norm {
            weight: self.row(number)?,
            bias: self.row(number + 1)?,
        })
    }

    fn matrix(&self, layer: usize, number: usize) -> Result<Matrix<'_>> {
        let first = layer * LAYER_ARRAYS + number * 3;
        let (scales, biases) = (self.values(first + 1)?, self.values(first + 2)?);
        Matrix::new(MATRICES[number].0, self.values(first)?, scales, biases)
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
        let block = self.array(FIRST_WORDS + id / BLOCK_WORDS)?;
        let (codes, scales) = block.split_at_checked(BLOCK_CODES).unwrap_or_default();
        row_of(codes, scales, id % BLOCK_WORDS)
    }

    fn position(&self, at: usize) -> Result<Row<'_>> {
        row_of(
            self.array(POSITION_CODES)?,
            self.array(POSITION_SCALES)?,
            at,
        )
    }

    fn token_type(&self) -> Result<&[f32; HIDDEN]> {
        self.row(TOKEN_TYPE)
    }

    fn embedding_norm(&self) -> Result<Norm<'_>> {
        self.norm(EMBEDDING_NORM)
    }

    fn layer(&self, number: usize) -> Result<Layer<'_>> {
        if number >= LAYERS {
            let text = format!("expected a layer below {LAYERS}, got {number}");
            return Err(CoreError::Invalid(text));
        }
        let norms = number * LAYER_ARRAYS + FIRST_NORM;
        Ok(Layer {
            query: self.matrix(number, 0)?,
            key: self.matrix(number, 1)?,
            value: self.matrix(number, 2)?,
            output: self.matrix(number, 3)?,
            attention_norm: self.norm(norms)?,
            up: self.matrix(number, 4)?,
            down: self.matrix(number, 5)?,
            output_norm: self.norm(norms + 2)?,
        })
    }
}

fn row_of<'a>(codes: &'a [u8], scales: &'a [u8], at: usize) -> Result<Row<'a>> {
    let rows = cast::<[i8; HIDDEN]>(codes).and_then(|rows| rows.get(at));
    let scale = cast::<f32>(scales).and_then(|scales| scales.get(at));
    let found = rows.zip(scale).map(|(row, scale)| (row, *scale));
    found.ok_or_else(|| CoreError::Invalid(format!("there is no row {at}")))
}

/// An image that is filled array by array.
struct Image<'a> {
    held: Held,
    places: &'a [Range<usize>],
    next: usize,
}

impl Image<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let place = self.places.get(self.next).cloned();
        let into = place.and_then(|place| self.held.bytes_mut().get_mut(place));
        // A block of words may end early.
        let into = into.and_then(|into| into.get_mut(..bytes.len()));
        let Some(into) = into else {
            let text = format!("array {} has no room for {} bytes", self.next, bytes.len());
            return Err(CoreError::Invalid(text));
        };
        into.copy_from_slice(bytes);
        self.next += 1;
        Ok(())
    }

    fn floats(&mut self, values: &[f32]) -> Result<()> {
        self.put(bytes_of(values))
    }
}

/// Every array of the model, in the order of [`lengths`].
fn fill(image: &mut Image<'_>, layers: &Initialisers<'_>, onnx: &Initialisers<'_>) -> Result<()> {
    for layer in 0..LAYERS {
        let layer = format!("encoder.layer.{layer}");
        for (dense, (inputs, columns)) in DENSE.iter().zip(MATRICES) {
            let name = format!("{layer}.{dense}.weight");
            let codes = codes(layers, &name, inputs, columns)?;
            image.put(bytes_of(&pack(codes, inputs, columns)?))?;
            image.floats(&scales(layers, &format!("{name}_scale"), &[columns])?)?;
            image.floats(&layers.float32(&format!("{layer}.{dense}.bias"), &[columns])?)?;
        }
        for norm in NORMS {
            norm_of(image, layers, &format!("{layer}.{norm}"))?;
        }
    }
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

fn norm_of(image: &mut Image<'_>, onnx: &Initialisers<'_>, name: &str) -> Result<()> {
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

/// 8-bit values without −128, which has no opposite: the largest sum of products fits 32 bits.
fn codes<'a>(onnx: &Initialisers<'a>, name: &str, rows: usize, columns: usize) -> Result<&'a [i8]> {
    let codes = cast::<i8>(onnx.int8(name, &[rows, columns])?).unwrap_or_default();
    if codes.contains(&i8::MIN) {
        let text = format!("expected values of {name} from -127 to 127, got -128");
        return Err(CoreError::Invalid(text));
    }
    Ok(codes)
}

/// One factor for each row or column; the other axis has length 1.
fn scales(onnx: &Initialisers<'_>, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
    let scales = onnx.float32(name, shape)?;
    if scales.iter().all(|scale| *scale >= 0.0) {
        Ok(scales)
    } else {
        let text = format!("expected scales of {name} of at least 0, got a negative one");
        Err(CoreError::Invalid(text))
    }
}

/// The image with its head: checksums of all arrays, and one of the head itself.
fn sealed(mut held: Held, places: &[Range<usize>], sha256: &[u8; 32]) -> Held {
    let length = held.bytes().len() as u64;
    let mut head = Vec::new();
    head.extend_from_slice(&MAGIC);
    head.extend_from_slice(&LAYOUT.to_le_bytes());
    head.extend_from_slice(&(ARRAYS as u32).to_le_bytes());
    head.extend_from_slice(&length.to_le_bytes());
    head.extend_from_slice(sha256);
    for place in places {
        let bytes = held.bytes().get(place.clone()).unwrap_or_default();
        head.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
    }
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    held.bytes_mut()[..head.len()].copy_from_slice(&head);
    held
}

/// The checksum of an array as the head has it.
fn checksum_of(image: &[u8], array: usize) -> Option<u32> {
    let at = HEAD_FIXED + array * size_of::<u32>();
    let word = image.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*word))
}

fn check_head(image: &[u8], length: usize, sha256: &[u8; 32]) -> Result<()> {
    let end = HEAD_FIXED + ARRAYS * size_of::<u32>();
    let Some((head, _)) = image.split_at_checked(end) else {
        return Err(unusable(format!("it has {} bytes", image.len())));
    };
    if head[..8] != MAGIC {
        return Err(unusable("it holds no packed weights"));
    }
    if head[8..12] != LAYOUT.to_le_bytes() || head[12..16] != (ARRAYS as u32).to_le_bytes() {
        return Err(unusable(format!("it is not of layout {LAYOUT}")));
    }
    if checksum_of(image, ARRAYS) != Some(crc32fast::hash(head)) {
        return Err(unusable("the checksum of its head is wrong"));
    }
    if head[24..56] != *sha256 {
        return Err(unusable("it was packed from other weights"));
    }
    if head[16..24] != (length as u64).to_le_bytes() || image.len() != length {
        let found = image.len();
        return Err(unusable(format!("expected {length} bytes, it has {found}")));
    }
    Ok(())
}
