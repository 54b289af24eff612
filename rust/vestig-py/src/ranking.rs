//! The query, the ranking and the walk: what a recall gets from Python.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use vestig_core::kernels::temporal::Window;
use vestig_core::recall::{
    Base, Pool, Postings, Query as CoreQuery, QuestionWords, Ranking as CoreRanking, Signal,
    Traversal, Weights,
};
use vestig_core::segment::Id;
use vestig_core::words;

use crate::numbers::{TraceParams, floats};
use crate::query::{id_of, ids_of};
use crate::rows::{self, PieceBytes};

fn refuse<T>(text: String) -> PyResult<T> {
    Err(PyValueError::new_err(text))
}

/// One of two words.
fn choice(name: &str, given: &str, [off, on]: [&str; 2]) -> PyResult<bool> {
    match given {
        _ if given == off => Ok(false),
        _ if given == on => Ok(true),
        _ => refuse(format!("expected {name} {off} or {on}, got {given}")),
    }
}

/// (id, score).
type Scored<'py> = (Bound<'py, PyBytes>, f64);
/// Ids one after the other, words of each, and by term where it stands and how often.
type FieldLists<'py> = (Bound<'py, PyBytes>, Vec<u32>, Postings);

fn scores(given: &[Scored<'_>]) -> PyResult<Vec<(Id, f64)>> {
    let one = |(id, score): &Scored<'_>| Ok((id_of(id.as_bytes())?, *score));
    given.iter().map(one).collect()
}

fn field_words((ids, lengths, postings): FieldLists<'_>) -> PyResult<Arc<QuestionWords>> {
    let ids = ids_of(ids.as_bytes())?;
    Ok(QuestionWords::new(ids, lengths, postings))
}

/// A query, analysed.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Query(pub(crate) CoreQuery);

#[pymethods]
impl Query {
    #[new]
    #[pyo3(signature = (*, vector, text, keywords=Vec::new(), windows=Vec::new(),
        entities=Vec::new(), seed=0, said=None, dates=Vec::new(), asks=0, pieces=None,
        questions=None, reranked=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        vector: Option<&Bound<'_, PyAny>>,
        text: Option<&str>,
        keywords: Vec<String>,
        windows: Vec<Window>,
        entities: Vec<Scored<'_>>,
        seed: u64,
        said: Option<String>,
        dates: Vec<(Option<i64>, Option<i64>, bool)>,
        asks: u8,
        pieces: Option<PieceBytes<'_>>,
        questions: Option<FieldLists<'_>>,
        reranked: Option<Vec<Scored<'_>>>,
    ) -> PyResult<Self> {
        let reversed = |start: Option<i64>, end| start.zip(end).is_some_and(|(s, e)| s > e);
        let dates_reversed = dates.iter().any(|date| reversed(date.0, date.1));
        if dates_reversed || windows.iter().any(|w| reversed(w.0, w.1)) {
            return refuse("expected windows that end after they start".into());
        }
        Ok(Self(CoreQuery {
            vector: vector.map(|v| floats("vector", v)).transpose()?,
            terms: text.map(|text| words::terms(text, None)),
            keywords,
            windows,
            entities: scores(&entities)?,
            seed,
            names_text: said,
            dates,
            question_kinds: asks,
            pieces: pieces.map(rows::pieces).transpose()?,
            questions: questions.map(field_words).transpose()?,
            reranked: reranked.as_deref().map(scores).transpose()?,
        }))
    }
}

/// The traversal.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Walk(Traversal);

#[pymethods]
impl Walk {
    #[new]
    #[pyo3(signature = (*, deterministic, threshold, order, max_nodes, exploration_factor,
        signal_decay, normalize_weights, theta, mentions, related, min_signal, max_hops,
        max_entity_degree, use_tracerank, max_edges))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn new(
        deterministic: bool,
        threshold: f64,
        order: &str,
        max_nodes: usize,
        exploration_factor: f64,
        signal_decay: f64,
        normalize_weights: bool,
        theta: f64,
        mentions: bool,
        related: bool,
        min_signal: f64,
        max_hops: Option<u32>,
        max_entity_degree: usize,
        use_tracerank: bool,
        max_edges: usize,
    ) -> PyResult<Self> {
        Ok(Self(Traversal {
            deterministic,
            threshold,
            depth_first: choice("order", order, ["best", "dfs"])?,
            max_nodes,
            exploration_factor,
            signal_decay,
            normalize_weights,
            theta,
            mentions,
            related,
            min_signal,
            max_hops,
            max_entity_degree,
            use_tracerank,
            max_edges,
        }))
    }
}

fn base_of(base: &str) -> PyResult<Base> {
    match base {
        "semantic" => Ok(Base::Semantic),
        "blend" => Ok(Base::Blend),
        "linear" => Ok(Base::Linear),
        "cosine" => Ok(Base::Cosine),
        _ => refuse(format!(
            "expected semantic, blend, linear or cosine, got {base}"
        )),
    }
}

fn weights_of(given: &HashMap<String, f64>) -> PyResult<Weights> {
    let mut weights = Weights::default();
    for (name, weight) in given {
        if !weight.is_finite() {
            return refuse(format!("expected a finite weight of {name}, got {weight}"));
        }
        match Signal::named(name) {
            Some(signal) => weights.signals[signal] = Some(*weight),
            None if name == "bias" => weights.bias = *weight,
            None => return refuse(format!("expected a signal or bias, got {name}")),
        }
    }
    Ok(weights)
}

fn pool_of(pool: &Bound<'_, PyAny>) -> PyResult<Pool> {
    if pool.is_none() {
        return Ok(Pool::All);
    }
    if let Ok(word) = pool.extract::<&str>() {
        return match word {
            "starts" => Ok(Pool::Starts),
            _ => refuse(format!("expected a number, None or starts, got {word}")),
        };
    }
    Ok(Pool::Best(pool.extract()?))
}

/// How scores are made.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Ranking(pub(crate) CoreRanking);

#[pymethods]
impl Ranking {
    #[new]
    #[pyo3(signature = (*, base, weights, trace, tracerank_power, path_power, association, alpha,
        meta_weights, keyword_mode, entity_mode, recency_tau_days, open_scale_days,
        content_weight, query_weight, hyde, start_enabled, start_top_k, pool, walk, summary_prior,
        expand_summaries, limit, min_score, query_time_us, watch=b"".as_slice(), late_pool=128))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        base: &str,
        weights: [HashMap<String, f64>; 4],
        trace: &TraceParams,
        tracerank_power: f64,
        path_power: f64,
        association: f64,
        alpha: f64,
        meta_weights: [f64; 4],
        keyword_mode: &str,
        entity_mode: &str,
        recency_tau_days: f64,
        open_scale_days: f64,
        content_weight: f64,
        query_weight: f64,
        hyde: bool,
        start_enabled: bool,
        start_top_k: usize,
        pool: &Bound<'_, PyAny>,
        walk: Option<&Walk>,
        summary_prior: f64,
        expand_summaries: bool,
        limit: usize,
        min_score: Option<f64>,
        query_time_us: i64,
        watch: &[u8],
        late_pool: usize,
    ) -> PyResult<Self> {
        let [a, b, c, d] = weights.each_ref().map(weights_of);
        for (name, days) in [
            ("recency_tau_days", recency_tau_days),
            ("open_scale_days", open_scale_days),
        ] {
            if !(days.is_finite() && days > 0.0) {
                return refuse(format!("expected {name} > 0, got {days}"));
            }
        }
        for (name, share) in [
            ("alpha", alpha),
            ("content_weight", content_weight),
            ("query_weight", query_weight),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(format!("expected {name} between 0 and 1, got {share}"));
            }
        }
        Ok(Self(CoreRanking {
            base: base_of(base)?,
            weights: [a?, b?, c?, d?],
            trace: trace.0.clone(),
            tracerank_power,
            path_power,
            association,
            alpha,
            meta_weights,
            keyword_weighted: choice("keyword_mode", keyword_mode, ["jaccard", "weighted"])?,
            entity_weighted: choice("entity_mode", entity_mode, ["overlap", "weighted"])?,
            recency_tau_days,
            open_scale_days,
            content_weight,
            query_weight,
            stored_questions: hyde,
            start_enabled,
            start_top_k,
            pool: pool_of(pool)?,
            walk: walk.map(|walk| walk.0.clone()),
            summary_prior,
            expand_summaries,
            limit,
            min_score,
            late_pool,
            query_time: query_time_us,
            watch: ids_of(watch)?,
        }))
    }
}

/// Of every signal: name, description and what its raw values are divided by.
#[pyfunction]
fn signal_table() -> Vec<(&'static str, &'static str, String)> {
    let row = |signal: Signal| {
        (
            signal.name(),
            signal.description(),
            signal.normaliser().text(),
        )
    };
    Signal::ALL.into_iter().map(row).collect()
}

/// Adds these names to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let names = PyTuple::new(module.py(), Signal::ALL.map(Signal::name))?;
    module.add("SIGNALS", names)?;
    module.add_function(wrap_pyfunction!(signal_table, module)?)?;
    module.add_class::<Query>()?;
    module.add_class::<Walk>()?;
    module.add_class::<Ranking>()
}
