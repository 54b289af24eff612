//! The arrays with which the image of every encoder begins: layers, norm of the embeddings, token
//! types and positions.

use super::image::{Draft, Image};
use super::weights::{HIDDEN, INTERMEDIATE, LAYERS, Layer, Matrix, Norm, PIECES_MAX, Row, pack};
use crate::error::{CoreError, Result};
use crate::segment::map::{bytes_of, cast};

/// Inputs and columns of the matrices of a layer, in their order.
pub(super) const MATRICES: [(usize, usize); 6] = [
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
const TOKEN_TYPES: usize = EMBEDDING_NORM + 2;
const POSITION_CODES: usize = TOKEN_TYPES + 1;
const POSITION_SCALES: usize = POSITION_CODES + 1;
/// Arrays of an encoder.
pub(super) const ARRAYS: usize = POSITION_SCALES + 1;
/// Bytes of a row of float32 values.
pub(super) const ROW_BYTES: usize = HIDDEN * size_of::<f32>();

/// Bytes of each array of an encoder with so many token types, in order.
pub(super) fn lengths(token_types: usize) -> impl Iterator<Item = usize> {
    let floats = size_of::<f32>();
    let layer = MATRICES
        .into_iter()
        .flat_map(move |(inputs, columns)| [inputs * columns, columns * floats, columns * floats])
        .chain([ROW_BYTES; 4]);
    std::iter::repeat_n(layer, LAYERS)
        .flatten()
        .chain([ROW_BYTES, ROW_BYTES, token_types * ROW_BYTES])
        .chain([PIECES_MAX * HIDDEN, PIECES_MAX * floats])
}

fn row(image: &Image, array: usize, at: usize) -> Result<&[f32; HIDDEN]> {
    let rows = image.values::<[f32; HIDDEN]>(array)?;
    rows.get(at)
        .ok_or_else(|| CoreError::Invalid(format!("array {array} has no row {at}")))
}

fn norm(image: &Image, array: usize) -> Result<Norm<'_>> {
    Ok(Norm {
        weight: row(image, array, 0)?,
        bias: row(image, array + 1, 0)?,
    })
}

fn matrix(image: &Image, layer: usize, number: usize) -> Result<Matrix<'_>> {
    let first = layer * LAYER_ARRAYS + number * 3;
    let (scales, biases) = (image.values(first + 1)?, image.values(first + 2)?);
    Matrix::new(MATRICES[number].0, image.values(first)?, scales, biases)
}

/// The weights of a layer.
pub(super) fn layer(image: &Image, number: usize) -> Result<Layer<'_>> {
    if number >= LAYERS {
        let text = format!("expected a layer below {LAYERS}, got {number}");
        return Err(CoreError::Invalid(text));
    }
    let norms = number * LAYER_ARRAYS + FIRST_NORM;
    Ok(Layer {
        query: matrix(image, number, 0)?,
        key: matrix(image, number, 1)?,
        value: matrix(image, number, 2)?,
        output: matrix(image, number, 3)?,
        attention_norm: norm(image, norms)?,
        up: matrix(image, number, 4)?,
        down: matrix(image, number, 5)?,
        output_norm: norm(image, norms + 2)?,
    })
}

/// The norm behind the embeddings.
pub(super) fn embedding_norm(image: &Image) -> Result<Norm<'_>> {
    norm(image, EMBEDDING_NORM)
}

/// The row of a token type.
pub(super) fn token_type(image: &Image, number: usize) -> Result<&[f32; HIDDEN]> {
    row(image, TOKEN_TYPES, number)
}

/// The row of a position.
pub(super) fn position(image: &Image, at: usize) -> Result<Row<'_>> {
    let (codes, scales) = (image.array(POSITION_CODES)?, image.array(POSITION_SCALES)?);
    row_of(codes, scales, at)
}

/// A row of codes and its scale.
pub(super) fn row_of<'a>(codes: &'a [u8], scales: &'a [u8], at: usize) -> Result<Row<'a>> {
    let rows = cast::<[i8; HIDDEN]>(codes).and_then(|rows| rows.get(at));
    let scale = cast::<f32>(scales).and_then(|scales| scales.get(at));
    let found = rows.zip(scale).map(|(row, scale)| (row, *scale));
    found.ok_or_else(|| CoreError::Invalid(format!("there is no row {at}")))
}

/// Arrays of a file of layers, taken from its beginning.
pub(super) struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// All of a file.
    pub(super) fn new(file: &'a [u8]) -> Self {
        Self(file)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or_else(|| CoreError::Invalid("the file of layers ends early".into()))?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next 8-bit codes.
    pub(super) fn codes(&mut self, count: usize, what: &str) -> Result<&'a [i8]> {
        checked_codes(cast::<i8>(self.take(count)?).unwrap_or_default(), what)
    }

    /// The next numbers.
    pub(super) fn floats(&mut self, count: usize) -> Result<Vec<f32>> {
        let bytes = self.take(count * size_of::<f32>())?;
        let floats = bytes.as_chunks::<4>().0.iter();
        Ok(floats.map(|four| f32::from_le_bytes(*four)).collect())
    }

    /// The next scales.
    pub(super) fn scales(&mut self, count: usize, what: &str) -> Result<Vec<f32>> {
        checked_scales(self.floats(count)?, what)
    }

    /// `Invalid` unless everything was taken.
    pub(super) fn end(&self) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let text = format!("the file of layers has {} bytes too many", self.0.len());
        Err(CoreError::Invalid(text))
    }
}

/// The arrays of the layers. Their file has of each matrix 8-bit codes (inputs × columns), a scale and
/// a bias for every column, then weight and bias of both norms, layer by layer.
pub(super) fn fill_layers(image: &mut Draft<'_>, rest: &mut Rest<'_>) -> Result<()> {
    for layer in 0..LAYERS {
        for (number, (inputs, columns)) in MATRICES.into_iter().enumerate() {
            let what = format!("matrix {number} of layer {layer}");
            let codes = rest.codes(inputs * columns, &what)?;
            image.put(bytes_of(&pack(codes, inputs, columns)?))?;
            image.floats(&rest.scales(columns, &what)?)?;
            image.floats(&rest.floats(columns)?)?;
        }
        for _ in 0..4 {
            image.floats(&rest.floats(HIDDEN)?)?;
        }
    }
    Ok(())
}

/// 8-bit values without −128, which has no opposite: the largest sum of products fits 32 bits.
pub(super) fn checked_codes<'a>(codes: &'a [i8], what: &str) -> Result<&'a [i8]> {
    if codes.contains(&i8::MIN) {
        let text = format!("expected values of {what} from -127 to 127, got -128");
        return Err(CoreError::Invalid(text));
    }
    Ok(codes)
}

/// Scales of at least 0.
pub(super) fn checked_scales(scales: Vec<f32>, what: &str) -> Result<Vec<f32>> {
    if scales.iter().all(|scale| *scale >= 0.0) {
        Ok(scales)
    } else {
        let text = format!("expected scales of {what} of at least 0, got a negative one");
        Err(CoreError::Invalid(text))
    }
}
