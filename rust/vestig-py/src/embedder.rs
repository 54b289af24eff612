//! The built-in embedder: its weights, its word pieces and the vectors of texts.
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::embed::{self, Hidden, token_codes};

use crate::errors::run;
use crate::numbers::to_bytes;

/// The number of a piece that marks an end, which is in no text.
const SPECIAL_PIECE: u32 = u32::MAX;

/// The pieces of the vocabulary.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct WordPieces(embed::WordPieces);

#[pymethods]
impl WordPieces {
    #[new]
    fn new(py: Python<'_>, vocabulary: PathBuf, sha256: [u8; 32]) -> PyResult<Self> {
        run(py, || embed::WordPieces::read(&vocabulary, &sha256)).map(Self)
    }

    fn ids(&self, py: Python<'_>, text: &str) -> Vec<u32> {
        py.detach(|| self.0.ids(text))
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

/// Vector, piece ids, codes and scales of one text.
type Tokens<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

struct Both {
    vector: Vec<f32>,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

#[pymethods]
impl PackedWeights {
    #[staticmethod]
    fn map(py: Python<'_>, path: PathBuf, onnx_sha256: [u8; 32]) -> PyResult<Self> {
        run(py, || embed::PackedWeights::map(&path, &onnx_sha256)).map(Self)
    }

    #[staticmethod]
    fn pack(py: Python<'_>, onnx: PathBuf, onnx_sha256: [u8; 32]) -> PyResult<Self> {
        run(py, || embed::PackedWeights::pack(&onnx, &onnx_sha256)).map(Self)
    }

    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        run(py, || self.0.write(&path))
    }

    /// Version of the layout.
    #[classattr]
    const LAYOUT: u32 = embed::packed::LAYOUT;

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
    ) -> PyResult<Vec<Tokens<'py>>> {
        let made = |hidden: &Hidden<'_>| {
            let (codes, scales) = token_codes(hidden.rows());
            let vector = hidden.pooled(normalize).to_vec();
            Both {
                vector,
                codes,
                scales,
            }
        };
        let (ids, made) = self.each(py, pieces, &texts, threads, made)?;
        let texts = ids.into_iter().zip(made);
        Ok(texts.map(|(ids, both)| tokens(py, ids, &both)).collect())
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
            let each: Vec<_> = ids.iter().map(Vec::as_slice).collect();
            let made = embed::embed_each(&self.0, &each, threads, |_, hidden| made(hidden))?;
            Ok((ids, made))
        })
    }
}

fn tokens<'py>(py: Python<'py>, mut ids: Vec<u32>, both: &Both) -> Tokens<'py> {
    // The first and the last piece mark the ends, and nothing else can.
    for end in [0, ids.len().saturating_sub(1)] {
        if let Some(id) = ids.get_mut(end) {
            *id = SPECIAL_PIECE;
        }
    }
    ids.truncate(both.scales.len());
    let ids: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    let codes: Vec<u8> = both.codes.iter().map(|code| code.cast_unsigned()).collect();
    (
        to_bytes(py, &both.vector),
        PyBytes::new(py, &ids),
        PyBytes::new(py, &codes),
        to_bytes(py, &both.scales),
    )
}

/// Adds the types of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<WordPieces>()?;
    module.add_class::<PackedWeights>()
}
