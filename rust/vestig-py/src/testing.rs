//! Single kernels, for tests that compare them with their definitions. No feature of the product
//! calls them: they stand in a module of their own, `vestig._core.testing`.
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::embed;
use vestig_core::kernels::dispatch::{self, Level};
use vestig_core::kernels::max_sim::Tokens;
use vestig_core::kernels::piece_codes::{OwnedPieces, QueryPieces};
use vestig_core::kernels::temporal::{self, Window};
use vestig_core::kernels::tracerank::{self as multiplier, Stability, TraceEvent, TraceSubject};
use vestig_core::kernels::{dot as dots, math, rng};
use vestig_core::recall::confidence::{BestRow, features};
use vestig_core::words::names::class_of;

use crate::confidence::OwnedInput;
use crate::cross_encoder::{CrossEncoderWeights, OwnedMemory, pairs_of, triples_of};
use crate::embedder::{PackedWeights, WordPieces};
use crate::errors::{run, to_python};
use crate::numbers::{TraceFields, floats, to_bytes};

fn pair(x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<(Vec<f32>, Vec<f32>)> {
    let (x, y) = (floats("x", x)?, floats("y", y)?);
    let (of_x, of_y) = (x.len(), y.len());
    if of_x == of_y {
        return Ok((x, y));
    }
    let text = format!("expected two vectors of one length, got {of_x} and {of_y} values");
    Err(PyValueError::new_err(text))
}

#[pyfunction]
fn name_classes() -> Vec<u16> {
    let class = |code| char::from_u32(code).map_or(0, class_of);
    (0..=u32::from(char::MAX)).map(class).collect()
}

#[pyfunction]
fn dot(x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (x, y) = pair(x, y)?;
    Ok(f64::from(dots::dot(&x, &y)))
}

fn level_named(level: &str) -> PyResult<Level> {
    Level::named(level).ok_or_else(|| {
        let known = dispatch::levels().join(", ");
        let text = format!("expected a level of this machine ({known}), got '{level}'");
        PyValueError::new_err(text)
    })
}

#[pyfunction]
fn dot_with(level: &str, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (x, y) = pair(x, y)?;
    Ok(f64::from(dots::dot_with(level_named(level)?, &x, &y)))
}

#[pyfunction]
fn hidden_states<'py>(
    py: Python<'py>,
    level: &str,
    weights: &PackedWeights,
    texts: Vec<Vec<u32>>,
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let level = level_named(level)?;
    let states = run(py, || {
        let texts: Vec<_> = texts.iter().map(|ids| ids.as_slice().into()).collect();
        let made = |_, hidden: &embed::Hidden<'_>| hidden.rows().as_flattened().to_vec();
        embed::embed_each_with(level, &weights.0, &texts, threads, made)
    })?;
    Ok(states.iter().map(|rows| to_bytes(py, rows)).collect())
}

/// Word pieces of a question with each memory, and where the memory begins in them.
#[pyfunction]
fn judge_pairs(
    py: Python<'_>,
    pieces: &WordPieces,
    question: &str,
    memories: Vec<OwnedMemory>,
) -> Vec<(Vec<u32>, usize)> {
    let pairs = py.detach(|| pairs_of(pieces, question, &memories));
    let parts = pairs.into_iter().map(|pair| (pair.ids, pair.memory_from));
    parts.collect()
}

#[pyfunction]
fn judge_with(
    py: Python<'_>,
    level: &str,
    weights: &CrossEncoderWeights,
    words: &PackedWeights,
    pairs: Vec<(Vec<u32>, usize)>,
    threads: usize,
) -> PyResult<Vec<(f32, f32)>> {
    let level = level_named(level)?;
    let pairs = pairs.into_iter();
    let pairs = pairs.map(|(ids, memory_from)| embed::Pair { ids, memory_from });
    weights.judgements(py, level, words, || pairs.collect(), threads)
}

/// Word pieces of a question with each pair of memories, and where the older and the newer begin.
#[pyfunction]
fn version_triples(
    py: Python<'_>,
    pieces: &WordPieces,
    question: &str,
    pairs: Vec<(OwnedMemory, OwnedMemory)>,
) -> Vec<(Vec<u32>, usize, usize)> {
    let found = py.detach(|| triples_of(pieces, question, &pairs));
    let parts = found.into_iter();
    parts
        .map(|one| (one.ids, one.older_from, one.newer_from))
        .collect()
}

#[pyfunction]
fn version_logits_with(
    py: Python<'_>,
    level: &str,
    weights: &CrossEncoderWeights,
    words: &PackedWeights,
    triples: Vec<(Vec<u32>, usize, usize)>,
    threads: usize,
) -> PyResult<Vec<f32>> {
    let level = level_named(level)?;
    let triple = |(ids, older_from, newer_from)| embed::Triple {
        ids,
        older_from,
        newer_from,
    };
    let triples = triples.into_iter().map(triple);
    weights.logits(py, level, words, || triples.collect(), threads)
}

/// For each word piece of a query the largest similarity with one of a memory's codes, by a level.
#[pyfunction]
fn most_similar(
    level: &str,
    query: (Vec<u8>, Vec<u8>, Vec<u8>),
    memory: (Vec<u8>, Vec<u8>),
) -> PyResult<Vec<f64>> {
    let query = QueryPieces::from_bytes(&query.0, &query.1, &query.2).map_err(to_python)?;
    let memory = OwnedPieces::from_bytes(&memory.0, &memory.1).map_err(to_python)?;
    let mut found = Vec::new();
    Tokens::new(&query, |_| true).best_with(level_named(level)?, memory.view(), &mut found);
    Ok(found)
}

#[pyfunction]
fn levels() -> Vec<&'static str> {
    dispatch::levels()
}

#[pyfunction]
fn exp(x: f64) -> f64 {
    math::exp(x)
}

#[pyfunction]
#[pyo3(signature = (events, query_time_us, valid_from_us, stability, params, connectivity_n = 0))]
fn tracerank(
    py: Python<'_>,
    events: Vec<(u8, i64, i64, i64)>,
    query_time_us: i64,
    valid_from_us: i64,
    stability: u8,
    params: TraceFields,
    connectivity_n: u64,
) -> PyResult<(f64, f64, f64, f64, f64, f64, u32)> {
    let Some(stability) = Stability::from_code(stability) else {
        let text = format!("expected a stability code 0 to 3, got {stability}");
        return Err(PyValueError::new_err(text));
    };
    let subject = TraceSubject {
        valid_from_us,
        stability,
        connectivity_n,
    };
    let params = params.checked()?;
    let found = py.detach(|| {
        let events = events
            .into_iter()
            .map(|(kind, occurred_us, seq, row)| TraceEvent {
                kind,
                occurred_us,
                seq,
                row,
            });
        multiplier::tracerank(&mut Vec::new(), events, query_time_us, subject, &params)
    });
    Ok((
        found.trace,
        found.basic,
        found.connectivity,
        found.confidence,
        found.unclipped,
        found.clipped,
        found.events,
    ))
}

#[pyfunction]
#[pyo3(signature = (instants_us, windows, query_windows, open_scale_days = 30.0))]
fn temporal_match(
    instants_us: Vec<i64>,
    windows: Vec<Window>,
    query_windows: Vec<Window>,
    open_scale_days: f64,
) -> PyResult<f64> {
    temporal::temporal_match(&instants_us, &windows, &query_windows, open_scale_days)
        .map_err(to_python)
}

#[pyfunction]
fn walk_uniform(seed: u64, start: &str, edge: &str) -> f64 {
    rng::uniform(seed, start.as_bytes(), edge.as_bytes())
}

/// `late`, `topic`, whether direct, matched terms, number of the query's entities.
type RowByHand = (f64, f64, bool, Vec<usize>, usize);

/// Features of confidence, of rows by hand.
#[pyfunction]
fn features_by_hand(rows: Vec<RowByHand>, input: OwnedInput) -> Vec<f64> {
    let rows = rows.iter().map(|row| BestRow {
        late: row.0,
        topic: row.1,
        direct: row.2,
        matched_terms: &row.3,
        named: row.4,
    });
    let best: Vec<BestRow<'_>> = rows.collect();
    features(&best, &input.view()).to_vec()
}

/// Adds the module `testing` with these functions.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let name = "vestig._core.testing";
    let module = PyModule::new(parent.py(), name)?;
    module.add_function(wrap_pyfunction!(dot, &module)?)?;
    module.add_function(wrap_pyfunction!(name_classes, &module)?)?;
    module.add_function(wrap_pyfunction!(dot_with, &module)?)?;
    module.add_function(wrap_pyfunction!(most_similar, &module)?)?;
    module.add_function(wrap_pyfunction!(hidden_states, &module)?)?;
    module.add_function(wrap_pyfunction!(judge_pairs, &module)?)?;
    module.add_function(wrap_pyfunction!(judge_with, &module)?)?;
    module.add_function(wrap_pyfunction!(version_triples, &module)?)?;
    module.add_function(wrap_pyfunction!(version_logits_with, &module)?)?;
    module.add_function(wrap_pyfunction!(levels, &module)?)?;
    module.add_function(wrap_pyfunction!(exp, &module)?)?;
    module.add_function(wrap_pyfunction!(tracerank, &module)?)?;
    module.add_function(wrap_pyfunction!(temporal_match, &module)?)?;
    module.add_function(wrap_pyfunction!(walk_uniform, &module)?)?;
    module.add_function(wrap_pyfunction!(features_by_hand, &module)?)?;
    parent.add("testing", &module)?;
    // An extension is no package: its submodule is found only where imports look first.
    let modules = parent.py().import("sys")?.getattr("modules")?;
    modules.set_item(name, module)
}
