//! The ranking: how scores are made and how the graph is walked; one object for a configuration.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vestig_core::recall::{
    Base, KINDS, METADATA, Pool, Ranking as CoreRanking, Signal, Traversal, Weights,
};

use crate::numbers::TraceParams;
use crate::scan::signal_names;

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
            Some(signal) => weights.signals[signal] = *weight,
            None if name == "bias" => weights.bias = *weight,
            None => return refuse(format!("expected a signal or bias, got {name}")),
        }
    }
    Ok(weights)
}

/// None = all, `starts` = the start nodes, a number = so many of the best by S.
pub(crate) fn pool_of(pool: &Bound<'_, PyAny>) -> PyResult<Pool> {
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
        content_weight, question_weight, questions, start_enabled, start_limit, walk, summary_prior,
        expand_summaries, late_pool=128, sittings=true, tracerank_bound=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        base: &str,
        weights: [HashMap<String, f64>; KINDS],
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
        question_weight: f64,
        questions: bool,
        start_enabled: bool,
        start_limit: usize,
        walk: Option<&Walk>,
        summary_prior: f64,
        expand_summaries: bool,
        late_pool: usize,
        sittings: bool,
        tracerank_bound: Option<f64>,
    ) -> PyResult<Self> {
        let [peer, all] = weights.each_ref().map(weights_of);
        let weights = [peer?, all?];
        for (name, days) in [
            ("recency_tau_days", recency_tau_days),
            ("open_scale_days", open_scale_days),
        ] {
            if !(days.is_finite() && days > 0.0) {
                return refuse(format!("expected {name} > 0, got {days}"));
            }
        }
        if let Some(bound) = tracerank_bound.filter(|bound| bound.is_nan() || *bound < 0.0) {
            return refuse(format!("expected tracerank_bound >= 0, got {bound}"));
        }
        for (name, share) in [
            ("alpha", alpha),
            ("content_weight", content_weight),
            ("question_weight", question_weight),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(format!("expected {name} between 0 and 1, got {share}"));
            }
        }
        Ok(Self(CoreRanking {
            base: base_of(base)?,
            weights,
            trace: trace.0.clone(),
            tracerank_power,
            tracerank_bound,
            path_power,
            association,
            alpha,
            meta_weights,
            keyword_weighted: choice("keyword_mode", keyword_mode, ["jaccard", "weighted"])?,
            entity_weighted: choice("entity_mode", entity_mode, ["overlap", "weighted"])?,
            recency_tau_days,
            open_scale_days,
            content_weight,
            question_weight,
            stored_questions: questions,
            start_enabled,
            start_limit,
            walk: walk.map(|walk| walk.0.clone()),
            summary_prior,
            expand_summaries,
            late_pool,
            sittings,
        }))
    }

    /// The same ranking with another walk, or without one.
    fn with_walk(&self, walk: Option<&Walk>) -> Self {
        let mut ranking = self.0.clone();
        ranking.walk = walk.map(|walk| walk.0.clone());
        Self(ranking)
    }
}

/// Of every signal: name and description.
#[pyfunction]
fn signal_table() -> Vec<(&'static str, &'static str)> {
    let row = |signal: Signal| (signal.name(), signal.description());
    Signal::ALL.into_iter().map(row).collect()
}

/// Adds these names to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let names = PyTuple::new(module.py(), signal_names(module.py()))?;
    module.add("SIGNALS", names)?;
    module.add("METADATA", PyTuple::new(module.py(), METADATA)?)?;
    module.add_function(wrap_pyfunction!(signal_table, module)?)?;
    module.add_class::<Walk>()?;
    module.add_class::<Ranking>()
}
