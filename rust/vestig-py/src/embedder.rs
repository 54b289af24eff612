//! The built-in embedder: its weights, its word pieces and the vectors of texts.
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::embed::weights::HIDDEN;
use vestig_core::embed::{self, Hidden};
use vestig_core::kernels::piece_codes::{PIECES_MAX, QueryPieces};

use crate::errors::{run, to_python};
use crate::numbers::{floats, to_bytes};

/// The number of a piece that marks an end, which is in no text.
const SPECIAL_PIECE: u32 = u32::MAX;

/// The pieces of the vocabulary.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct WordPieces(pub(crate) embed::WordPieces);

#[pymethods]
impl WordPieces {
    #[new]
    fn new(py: Python<'_>, vocabulary: PathBuf, sha256: [u8; 32]) -> PyResult<Self> {
        run(py, || embed::WordPieces::read(&vocabulary, &sha256)).map(Self)
    }

    fn ids(&self, py: Python<'_>, text: &str) -> Vec<u32> {
        py.detach(|| self.0.ids(text))
    }

    fn places<'py>(&self, py: Python<'py>, text: &str) -> Bound<'py, PyBytes> {
        let places = py.detach(|| self.0.places(text));
        let bytes = places.iter().flat_map(|(start, end)| [start, end]);
        let bytes: Vec<u8> = bytes.flat_map(|place| place.to_le_bytes()).collect();
        PyBytes::new(py, &bytes)
    }

    fn truncated(&self, py: Python<'_>, text: &str) -> bool {
        py.detach(|| self.0.truncated(text))
    }

    fn count(&self, py: Python<'_>, text: &str) -> usize {
        py.detach(|| self.0.count(text))
    }
}

/// Weights of the model, mapped or in memory.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct PackedWeights(pub(crate) embed::PackedWeights);

/// Mean and axes of the codes of word pieces.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct PieceAxes(embed::PieceAxes);

/// Rows of hidden states.
fn states_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<[f32; HIDDEN]>> {
    let values = floats("states", given)?;
    let (rows, rest) = values.as_chunks();
    if rest.is_empty() {
        return Ok(rows.to_vec());
    }
    let found = values.len();
    let text = format!("expected hidden states of {HIDDEN} numbers each, got {found} numbers");
    Err(PyValueError::new_err(text))
}

#[pymethods]
impl PieceAxes {
    #[new]
    fn new(py: Python<'_>, mean: PathBuf, axes: PathBuf) -> PyResult<Self> {
        run(py, || embed::PieceAxes::read(&mean, &axes)).map(Self)
    }

    fn codes<'py>(
        &self,
        py: Python<'py>,
        states: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let states = states_of(states)?;
        let codes = py.detach(|| self.0.codes(&states));
        Ok(PyBytes::new(py, &codes))
    }

    fn query<'py>(
        &self,
        py: Python<'py>,
        ids: &[u8],
        states: &Bound<'py, PyAny>,
    ) -> PyResult<Parts<'py, 3>> {
        let states = states_of(states)?;
        let ids = ids.as_chunks::<4>().0.iter();
        let ids = ids.map(|four| u32::from_le_bytes(*four)).collect();
        let pieces = py
            .detach(|| self.0.query(ids, &states))
            .map_err(to_python)?;
        Ok(query_parts(py, &pieces))
    }

    /// SHA-256 of both files.
    #[classattr]
    #[allow(non_snake_case)] // a constant of the class
    fn SHA256(py: Python<'_>) -> (Bound<'_, PyBytes>, Bound<'_, PyBytes>) {
        use embed::piece_axes::{AXES_SHA256, MEAN_SHA256};
        (
            PyBytes::new(py, &MEAN_SHA256),
            PyBytes::new(py, &AXES_SHA256),
        )
    }
}

type Parts<'py, const N: usize> = [Bound<'py, PyBytes>; N];

fn query_parts<'py>(py: Python<'py>, pieces: &QueryPieces) -> Parts<'py, 3> {
    let ids: Vec<u8> = pieces
        .ids()
        .iter()
        .flat_map(|id| id.to_le_bytes())
        .collect();
    let codes = pieces.codes().as_flattened().iter();
    let codes: Vec<u8> = codes.map(|code| code.cast_unsigned()).collect();
    let steps = pieces.steps().iter().flat_map(|step| step.to_le_bytes());
    let steps: Vec<u8> = steps.collect();
    [&ids, &codes, &steps].map(|part| PyBytes::new(py, part))
}

#[pymethods]
impl PackedWeights {
    #[staticmethod]
    fn map(
        py: Python<'_>,
        path: PathBuf,
        embeddings_sha256: [u8; 32],
        layers_sha256: [u8; 32],
    ) -> PyResult<Self> {
        let hashes = embed::SourceHashes {
            embeddings: embeddings_sha256,
            layers: layers_sha256,
        };
        run(py, || embed::PackedWeights::map(&path, &hashes)).map(Self)
    }

    #[staticmethod]
    fn pack(
        py: Python<'_>,
        embeddings: PathBuf,
        layers: PathBuf,
        embeddings_sha256: [u8; 32],
        layers_sha256: [u8; 32],
    ) -> PyResult<Self> {
        let hashes = embed::SourceHashes {
            embeddings: embeddings_sha256,
            layers: layers_sha256,
        };
        run(py, || {
            embed::PackedWeights::pack(&embeddings, &layers, &hashes)
        })
        .map(Self)
    }

    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        run(py, || self.0.write(&path))
    }

    /// Version of the layout.
    #[classattr]
    const LAYOUT: u32 = embed::image::LAYOUT;

    #[pyo3(signature = (pieces, texts, *, normalize, threads))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        pieces: &WordPieces,
        texts: Vec<String>,
        normalize: bool,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let made = |hidden: &Hidden<'_>| hidden.pooled(normalize).to_vec();
        let (_, made) = self.each(py, pieces, &texts, threads, made)?;
        Ok(made.iter().map(|vector| to_bytes(py, vector)).collect())
    }

    #[pyo3(signature = (pieces, texts, *, normalize, threads))]
    fn embed_tokens<'py>(
        &self,
        py: Python<'py>,
        pieces: &WordPieces,
        texts: Vec<String>,
        normalize: bool,
        threads: usize,
    ) -> PyResult<Vec<Parts<'py, 3>>> {
        let made = |hidden: &Hidden<'_>| {
            let kept = &hidden.rows()[..hidden.rows().len().min(PIECES_MAX)];
            (hidden.pooled(normalize), kept.as_flattened().to_vec())
        };
        let (ids, made) = self.each(py, pieces, &texts, threads, made)?;
        let one = |(ids, (vector, states)): (Vec<u32>, ([f32; HIDDEN], Vec<f32>))| {
            [
                to_bytes(py, &vector),
                marked_ids(py, ids),
                to_bytes(py, &states),
            ]
        };
        Ok(ids.into_iter().zip(made).map(one).collect())
    }

    #[pyo3(signature = (pieces, axes, texts, *, normalize, threads))]
    fn embed_codes<'py>(
        &self,
        py: Python<'py>,
        pieces: &WordPieces,
        axes: &PieceAxes,
        texts: Vec<String>,
        normalize: bool,
        threads: usize,
    ) -> PyResult<Vec<Parts<'py, 3>>> {
        let made = |hidden: &Hidden<'_>| (hidden.pooled(normalize), axes.0.codes(hidden.rows()));
        let (ids, made) = self.each(py, pieces, &texts, threads, made)?;
        let one = |(ids, (vector, codes)): (Vec<u32>, ([f32; HIDDEN], Vec<u8>))| {
            [
                to_bytes(py, &vector),
                marked_ids(py, ids),
                PyBytes::new(py, &codes),
            ]
        };
        Ok(ids.into_iter().zip(made).map(one).collect())
    }
}

impl PackedWeights {
    /// The word pieces of each text, and `made` of its hidden states.
    fn each<T: Send>(
        &self,
        py: Python<'_>,
        pieces: &WordPieces,
        texts: &[String],
        threads: usize,
        made: impl Fn(&Hidden<'_>) -> T + Sync + Send,
    ) -> PyResult<(Vec<Vec<u32>>, Vec<T>)> {
        if threads == 0 {
            return Err(PyValueError::new_err("expected at least one thread, got 0"));
        }
        run(py, || {
            let ids: Vec<_> = texts.iter().map(|text| pieces.0.ids(text)).collect();
            let each: Vec<_> = ids.iter().map(|ids| ids.as_slice().into()).collect();
            let made = embed::embed_each(&self.0, &each, threads, |_, hidden| made(hidden))?;
            Ok((ids, made))
        })
    }
}

/// Numbers of the pieces that have a code.
fn marked_ids<'py>(py: Python<'py>, mut ids: Vec<u32>) -> Bound<'py, PyBytes> {
    // The first and the last piece mark the ends, and nothing else can.
    for end in [0, ids.len().saturating_sub(1)] {
        if let Some(id) = ids.get_mut(end) {
            *id = SPECIAL_PIECE;
        }
    }
    ids.truncate(PIECES_MAX);
    let ids: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    PyBytes::new(py, &ids)
}

/// Adds the types of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<WordPieces>()?;
    module.add_class::<PieceAxes>()?;
    module.add_class::<PackedWeights>()
}
