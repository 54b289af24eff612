//! The judge and the version reader: their weights, and what they say of a question and memories.
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vestig_core::embed::{self, Files, MemoryText, Pair, Sources, Triple};
use vestig_core::kernels::dispatch::Level;

use crate::embedder::{PackedWeights, WordPieces};
use crate::errors::run;

/// Head, last words of the turn before, lead and text of a memory.
pub(crate) type OwnedMemory = (String, String, String, String);

fn view_of((head, before, lead, text): &OwnedMemory) -> MemoryText<'_> {
    MemoryText {
        head,
        before,
        lead,
        text,
    }
}

/// The pair of a question with each memory.
pub(crate) fn pairs_of(pieces: &WordPieces, question: &str, memories: &[OwnedMemory]) -> Vec<Pair> {
    let memories: Vec<_> = memories.iter().map(view_of).collect();
    embed::judge::pairs(&pieces.0, question, &memories)
}

/// A question with each pair of memories.
pub(crate) fn triples_of(
    pieces: &WordPieces,
    question: &str,
    pairs: &[(OwnedMemory, OwnedMemory)],
) -> Vec<Triple> {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(older, newer)| (view_of(older), view_of(newer)))
        .collect();
    embed::version_reader::triples(&pieces.0, question, &pairs)
}

/// Weights of a cross-encoder without its word vectors, mapped or in memory.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct CrossEncoderWeights(embed::CrossEncoderWeights);

#[pymethods]
impl CrossEncoderWeights {
    #[staticmethod]
    fn map(
        py: Python<'_>,
        path: PathBuf,
        layers: [u8; 32],
        adapter: [u8; 32],
        outputs: u8,
    ) -> PyResult<Self> {
        let sources = Sources { layers, adapter };
        let map = || embed::CrossEncoderWeights::map(&path, &sources, outputs.into());
        run(py, map).map(Self)
    }

    #[staticmethod]
    fn pack(
        py: Python<'_>,
        layers_file: PathBuf,
        adapter_file: PathBuf,
        layers: [u8; 32],
        adapter: [u8; 32],
        outputs: u8,
    ) -> PyResult<Self> {
        let sources = Sources { layers, adapter };
        let files = Files {
            layers: &layers_file,
            adapter: &adapter_file,
        };
        let pack = || embed::CrossEncoderWeights::pack(files, &sources, outputs.into());
        run(py, pack).map(Self)
    }

    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        run(py, || self.0.write(&path))
    }

    #[pyo3(signature = (words, pieces, question, memories, *, threads))]
    fn judge(
        &self,
        py: Python<'_>,
        words: &PackedWeights,
        pieces: &WordPieces,
        question: &str,
        memories: Vec<OwnedMemory>,
        threads: usize,
    ) -> PyResult<Vec<(f32, f32)>> {
        let pairs = || pairs_of(pieces, question, &memories);
        self.judgements(py, Level::best(), words, pairs, threads)
    }

    #[pyo3(signature = (words, pieces, question, pairs, *, threads))]
    fn compare(
        &self,
        py: Python<'_>,
        words: &PackedWeights,
        pieces: &WordPieces,
        question: &str,
        pairs: Vec<(OwnedMemory, OwnedMemory)>,
        threads: usize,
    ) -> PyResult<Vec<f32>> {
        let triples = || triples_of(pieces, question, &pairs);
        self.logits(py, Level::best(), words, triples, threads)
    }
}

impl CrossEncoderWeights {
    /// Both logits of each of the pairs.
    pub(crate) fn judgements(
        &self,
        py: Python<'_>,
        level: Level,
        words: &PackedWeights,
        pairs: impl FnOnce() -> Vec<Pair> + Send,
        threads: usize,
    ) -> PyResult<Vec<(f32, f32)>> {
        at_least_one(threads)?;
        let found = run(py, || self.0.judge(level, &words.0, &pairs(), threads))?;
        Ok(found.iter().map(|of| (of.answers, of.rank)).collect())
    }

    /// The logit of each of the triples.
    pub(crate) fn logits(
        &self,
        py: Python<'_>,
        level: Level,
        words: &PackedWeights,
        triples: impl FnOnce() -> Vec<Triple> + Send,
        threads: usize,
    ) -> PyResult<Vec<f32>> {
        at_least_one(threads)?;
        run(py, || self.0.compare(level, &words.0, &triples(), threads))
    }
}

fn at_least_one(threads: usize) -> PyResult<()> {
    match threads {
        0 => Err(PyValueError::new_err("expected at least one thread, got 0")),
        _ => Ok(()),
    }
}

/// Adds the types of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CrossEncoderWeights>()
}
