//! The ranking: how scores are made and how the graph is walked; one object for a configuration.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vestig_core::recall::{
    BIAS, Base, KINDS, METADATA, Pool, Ranking as CoreRanking, SEMANTIC, Signal, Term, Traversal,
    Weights,
};

use crate::numbers::TraceFields;
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

/// The traversal, by the attributes of one object.
#[derive(FromPyObject)]
#[allow(clippy::struct_excessive_bools)]
struct WalkFields {
    deterministic: bool,
    threshold: f64,
    order: String,
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
}

impl WalkFields {
    fn checked(self) -> PyResult<Traversal> {
        Ok(Traversal {
            deterministic: self.deterministic,
            threshold: self.threshold,
            depth_first: choice("order", &self.order, ["best", "dfs"])?,
            max_nodes: self.max_nodes,
            exploration_factor: self.exploration_factor,
            signal_decay: self.signal_decay,
            normalize_weights: self.normalize_weights,
            theta: self.theta,
            mentions: self.mentions,
            related: self.related,
            min_signal: self.min_signal,
            max_hops: self.max_hops,
            max_entity_degree: self.max_entity_degree,
            use_tracerank: self.use_tracerank,
            max_edges: self.max_edges,
        })
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

/// How scores are made, by the attributes of one object.
#[derive(FromPyObject)]
struct RankingFields {
    base: String,
    weights: [HashMap<String, f64>; KINDS],
    trace: TraceFields,
    tracerank_power: f64,
    tracerank_bound: Option<f64>,
    path_power: f64,
    association: f64,
    alpha: f64,
    meta_weights: [f64; 4],
    keyword_mode: String,
    entity_mode: String,
    recency_tau_days: f64,
    open_scale_days: f64,
    content_weight: f64,
    question_weight: f64,
    questions: bool,
    start_enabled: bool,
    start_limit: usize,
    walk: Option<WalkFields>,
    summary_prior: f64,
    expand_summaries: bool,
    late_pool: usize,
    sittings: bool,
}

impl RankingFields {
    fn check(&self) -> PyResult<()> {
        for (name, days) in [
            ("recency_tau_days", self.recency_tau_days),
            ("open_scale_days", self.open_scale_days),
        ] {
            if !(days.is_finite() && days > 0.0) {
                return refuse(format!("expected {name} > 0, got {days}"));
            }
        }
        let bound = self
            .tracerank_bound
            .filter(|bound| bound.is_nan() || *bound < 0.0);
        if let Some(bound) = bound {
            return refuse(format!("expected tracerank_bound >= 0, got {bound}"));
        }
        for (name, share) in [
            ("alpha", self.alpha),
            ("content_weight", self.content_weight),
            ("question_weight", self.question_weight),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(format!("expected {name} between 0 and 1, got {share}"));
            }
        }
        Ok(())
    }

    fn checked(self) -> PyResult<CoreRanking> {
        self.check()?;
        let [peer, all] = self.weights.each_ref().map(weights_of);
        Ok(CoreRanking {
            base: base_of(&self.base)?,
            weights: [peer?, all?],
            trace: self.trace.checked()?,
            tracerank_power: self.tracerank_power,
            tracerank_bound: self.tracerank_bound,
            path_power: self.path_power,
            association: self.association,
            alpha: self.alpha,
            meta_weights: self.meta_weights,
            keyword_weighted: choice("keyword_mode", &self.keyword_mode, ["jaccard", "weighted"])?,
            entity_weighted: choice("entity_mode", &self.entity_mode, ["overlap", "weighted"])?,
            recency_tau_days: self.recency_tau_days,
            open_scale_days: self.open_scale_days,
            content_weight: self.content_weight,
            question_weight: self.question_weight,
            stored_questions: self.questions,
            start_enabled: self.start_enabled,
            start_limit: self.start_limit,
            walk: self.walk.map(WalkFields::checked).transpose()?,
            summary_prior: self.summary_prior,
            expand_summaries: self.expand_summaries,
            late_pool: self.late_pool,
            sittings: self.sittings,
        })
    }
}

/// How scores are made.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Ranking(pub(crate) CoreRanking);

#[pymethods]
impl Ranking {
    #[new]
    fn new(fields: RankingFields) -> PyResult<Self> {
        Ok(Self(fields.checked()?))
    }

    /// The same ranking without a walk.
    fn without_walk(&self) -> Self {
        let mut ranking = self.0.clone();
        ranking.walk = None;
        Self(ranking)
    }
}

/// Name, group, meaning, definition, sentences.
type TermRow = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Vec<&'static str>,
);

/// The constant of L and its signals in the order of the sum, then what S is made of.
#[pyfunction]
fn term_table() -> Vec<TermRow> {
    let signals = Signal::ALL.into_iter().map(Signal::term);
    let all = std::iter::once(BIAS)
        .chain(signals)
        .chain([SEMANTIC])
        .chain(METADATA);
    let row = |one: Term| {
        let sentences = one.sentences.to_vec();
        (one.name, one.group, one.meaning, one.definition, sentences)
    };
    all.map(row).collect()
}

/// Adds these names to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let names = PyTuple::new(module.py(), signal_names(module.py()))?;
    module.add("SIGNALS", names)?;
    module.add(
        "METADATA",
        PyTuple::new(module.py(), METADATA.map(|one| one.name))?,
    )?;
    module.add_function(wrap_pyfunction!(term_table, module)?)?;
    module.add_class::<Ranking>()
}
