//! The result of a recall. Rows hold the core's numbers; what is costly to turn into Python objects
//! is made when it is read first, and kept.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use vestig_core::recall::{
    Base, Hit, KINDS, METADATA, PathStep, PoolMeans, Ranking, Scan as CoreScan, Signal, Weights,
};
use vestig_core::segment::Id;

use crate::ids::{id_of, text_of};

/// Contribution, name, raw, weight.
type Term<'py> = (f64, Bound<'py, PyString>, f64, f64);

/// The part that the rows of a scan have in common.
struct Shared {
    keywords: Vec<String>,
    /// Of L; None where the base is not linear.
    weights: Option<[Weights; KINDS]>,
}

/// One memory with every number that made its rank.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Row {
    #[pyo3(get)]
    final_score: f64,
    #[pyo3(get)]
    similarity: f64,
    #[pyo3(get)]
    semantic_score: f64,
    #[pyo3(get)]
    start_score: f64,
    #[pyo3(get)]
    constant: f64,
    /// The part of `constant` that every memory of its kind has.
    #[pyo3(get)]
    bias: f64,
    #[pyo3(get)]
    base: f64,
    #[pyo3(get)]
    origin: u8,
    #[pyo3(get)]
    kind: u8,
    #[pyo3(get)]
    embedded: bool,
    #[pyo3(get)]
    nearest_question: Option<(u32, f64)>,
    #[pyo3(get)]
    metadata_score: Option<f64>,
    #[pyo3(get)]
    alpha_used: Option<f64>,
    #[pyo3(get)]
    filled: bool,
    #[pyo3(get)]
    direct: bool,
    #[pyo3(get)]
    start_rank: Option<usize>,
    #[pyo3(get)]
    pool_rank: Option<usize>,
    #[pyo3(get)]
    path_score: f64,
    #[pyo3(get)]
    trace: f64,
    #[pyo3(get)]
    basic: f64,
    #[pyo3(get)]
    connectivity: f64,
    #[pyo3(get)]
    confidence: f64,
    #[pyo3(get)]
    unclipped: f64,
    #[pyo3(get)]
    tracerank: f64,
    #[pyo3(get)]
    events: u32,
    #[pyo3(get)]
    stability: u8,
    /// The newest of those that it is a later word on.
    newer_than: Option<Id>,
    /// The newest one that is a later word on what it says.
    older_than: Option<Id>,
    /// The replaced memory whose level and final score it has.
    in_place_of: Option<Id>,
    /// The stored question that it answers, whose level and final score it has.
    answers: Option<Id>,
    /// It asks what the query asks.
    #[pyo3(get)]
    asks_the_same: bool,
    /// The rest of the numbers, not yet as Python objects.
    pub(crate) hit: Hit,
    shared: Arc<Shared>,
    path: PyOnceLock<Py<PyTuple>>,
    steps: PyOnceLock<Py<PyTuple>>,
}

fn hex(ids: &[Id]) -> String {
    let one = |id: &Id| id.iter().map(|byte| format!("{byte:02x}")).collect();
    ids.iter().map(one).collect::<Vec<String>>().join("|")
}

impl Row {
    fn of(hit: Hit, shared: &Arc<Shared>) -> Self {
        Self {
            final_score: hit.final_score,
            similarity: hit.cosine,
            semantic_score: hit.semantic,
            start_score: hit.start_score,
            constant: hit.constant,
            bias: shared
                .weights
                .as_ref()
                .map_or(0.0, |weights| weights[hit.weights].bias),
            base: hit.base,
            origin: hit.origin,
            kind: hit.kind,
            embedded: hit.embedded,
            nearest_question: hit.question,
            metadata_score: hit.metadata,
            alpha_used: hit.alpha,
            filled: hit.filled,
            direct: hit.direct,
            start_rank: hit.start_rank,
            pool_rank: hit.pool_rank,
            path_score: hit.path_score,
            trace: hit.trace.trace,
            basic: hit.trace.basic,
            connectivity: hit.trace.connectivity,
            confidence: hit.trace.confidence,
            unclipped: hit.trace.unclipped,
            tracerank: hit.trace.clipped,
            events: hit.trace.events,
            stability: hit.stability,
            newer_than: None,
            older_than: None,
            in_place_of: None,
            answers: None,
            asks_the_same: false,
            hit,
            shared: Arc::clone(shared),
            path: PyOnceLock::new(),
            steps: PyOnceLock::new(),
        }
    }

    fn path_steps(&self) -> &[PathStep] {
        self.hit.path.as_ref().map_or(&[], |path| &path.steps)
    }
}

/// The names of all signals, each one object for the whole process.
pub(crate) fn signal_names(py: Python<'_>) -> &[Py<PyString>; Signal::COUNT] {
    static NAMES: PyOnceLock<[Py<PyString>; Signal::COUNT]> = PyOnceLock::new();
    let name = |signal: Signal| PyString::intern(py, signal.name()).unbind();
    NAMES.get_or_init(py, || Signal::ALL.map(name))
}

/// The tuple of a cell, made of these items at first.
fn cached<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    cell: &PyOnceLock<Py<PyTuple>>,
    items: impl FnOnce() -> Vec<T>,
) -> PyResult<Bound<'py, PyTuple>> {
    let tuple = cell.get_or_try_init(py, || PyTuple::new(py, items()).map(Bound::unbind))?;
    Ok(tuple.bind(py).clone())
}

#[pymethods]
impl Row {
    /// Returns what L is the sum of, without what adds nothing, greatest contribution first; of a
    /// base that is not linear, the metadata signals with these shares.
    fn terms<'py>(&self, py: Python<'py>, shares: &Bound<'py, PyDict>) -> PyResult<Vec<Term<'py>>> {
        let mut terms = Vec::with_capacity(Signal::COUNT + 1);
        let mut add = |name: &Bound<'py, PyString>, raw: f64, weight: f64| {
            if raw * weight != 0.0 {
                terms.push((raw * weight, name.clone(), raw, weight));
            }
        };
        if let Some(weights) = &self.shared.weights {
            let weights = &weights[self.hit.weights];
            add(intern!(py, "bias"), 1.0, self.hit.constant);
            let names = signal_names(py);
            for (signal, value) in self.hit.signals.iter() {
                let name = names[signal as usize].bind(py);
                add(name, value.unwrap_or(0.0), weights.signals[signal]);
            }
        } else {
            for (term, value) in METADATA.into_iter().zip(self.hit.metadata_values) {
                let name = term.name;
                let share = shares.get_item(name)?;
                let share: f64 = share.map_or(Ok(0.0), |share| share.extract())?;
                add(&PyString::intern(py, name), value.unwrap_or(0.0), share);
            }
        }
        terms.sort_by(|one, other| other.0.abs().total_cmp(&one.0.abs()));
        Ok(terms)
    }

    /// Raw value of one signal, or of one of the metadata; None = unavailable or not computed.
    fn signal(&self, name: &str) -> PyResult<Option<f64>> {
        if let Some(signal) = Signal::named(name) {
            return Ok(self.hit.signals[signal]);
        }
        match METADATA.iter().position(|own| own.name == name) {
            Some(place) => Ok(self.hit.metadata_values[place]),
            None => Err(PyKeyError::new_err(format!(
                "expected a signal, got {name}"
            ))),
        }
    }

    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        cached(py, &self.path, || {
            let nodes = self.path_steps().iter().flat_map(|step| &step.nodes);
            nodes
                .map(|(kind, id)| (*kind, PyBytes::new(py, id)))
                .collect()
        })
    }

    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        cached(py, &self.steps, || {
            let steps = self.path_steps().iter();
            let step = |step: &PathStep| (hex(&step.edges), step.weight, step.p, step.u);
            steps.map(step).collect()
        })
    }

    #[getter]
    fn matched_terms(&self) -> Vec<usize> {
        self.hit.matched_terms.clone()
    }

    #[getter]
    fn matched_keywords(&self) -> Vec<&str> {
        let keyword = |at: &usize| self.shared.keywords[*at].as_str();
        self.hit.matched_keywords.iter().map(keyword).collect()
    }

    #[getter]
    fn matched_entities<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let ids = self.hit.matched_entities.iter();
        ids.map(|id| PyBytes::new(py, id)).collect()
    }

    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.hit.id)
    }

    #[getter]
    fn memory_id(&self) -> String {
        text_of("mem", &self.hit.id)
    }

    #[getter]
    fn newer_than<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(py, &self.newer_than?))
    }

    /// The same row in another place, with the final score of that.
    #[pyo3(signature = (final_score, newer_than=None, older_than=None))]
    fn moved(
        &self,
        final_score: f64,
        newer_than: Option<&[u8]>,
        older_than: Option<&[u8]>,
    ) -> PyResult<Self> {
        let mut row = Self::of(self.hit.clone(), &self.shared);
        row.final_score = final_score;
        row.in_place_of = self.in_place_of;
        row.answers = self.answers;
        row.asks_the_same = self.asks_the_same;
        row.newer_than = newer_than.map(id_of).transpose()?;
        row.older_than = older_than.map(id_of).transpose()?;
        Ok(row)
    }

    /// The same row with the level and final score of a memory that it replaced; its signals stay
    /// its own.
    fn replacing(&self, other: PyRef<'_, Self>) -> Self {
        let mut hit = self.hit.clone();
        hit.start_score = other.hit.start_score;
        hit.final_score = other.hit.final_score;
        let mut row = Self::of(hit, &self.shared);
        row.in_place_of = Some(other.hit.id);
        row
    }

    /// The same row with the level and final score of a question that it answers; its signals stay
    /// its own.
    fn answering(&self, question: PyRef<'_, Self>) -> Self {
        let mut row = self.replacing(question);
        row.answers = row.in_place_of.take();
        row
    }

    /// The row of a stored question that is like the query, at a place with this final score.
    fn asking(&self, final_score: f64) -> Self {
        let mut row = Self::of(self.hit.clone(), &self.shared);
        row.final_score = final_score;
        row.asks_the_same = true;
        row
    }

    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(py, &self.answers?))
    }

    #[getter]
    fn in_place_of<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(py, &self.in_place_of?))
    }

    /// The final score of the formula, wherever it was moved to.
    #[getter]
    fn own_final_score(&self) -> f64 {
        self.hit.final_score
    }

    #[getter]
    fn older_than<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(py, &self.older_than?))
    }

    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let path = self.hit.path.as_ref()?;
        Some(PyBytes::new(py, &path.start))
    }

    #[getter]
    fn start_base(&self) -> Option<f64> {
        self.hit.path.as_ref().map(|path| path.start_base)
    }

    #[getter]
    fn signal_strength(&self) -> f64 {
        self.hit.path.as_ref().map_or(1.0, |path| path.signal)
    }
}

/// Result of one crossing.
#[pyclass(frozen, get_all, module = "vestig._core")]
pub(crate) struct Scan {
    rows: Py<PyTuple>,
    watched: Py<PyTuple>,
    associated: Py<PyTuple>,
    terms: Py<PyTuple>,
    stored: usize,
    eligible: usize,
    scored: usize,
    walked: usize,
    unembedded: usize,
    idfs: Py<PyTuple>,
    document_frequencies: Py<PyTuple>,
    dates_met: bool,
    pool_means: Py<PyDict>,
}

/// Name → mean over the pool: what L is the sum of, as `Row::terms` has it; of a base that is not
/// linear, S_query and the raw metadata signals.
fn pool_means(py: Python<'_>, linear: bool, means: &PoolMeans) -> PyResult<Py<PyDict>> {
    let named = PyDict::new(py);
    if linear {
        named.set_item(intern!(py, "bias"), means.bias)?;
        let names = signal_names(py);
        for (signal, mean) in means.signals.iter() {
            named.set_item(&names[signal as usize], mean)?;
        }
    } else {
        named.set_item(intern!(py, "semantic"), means.semantic)?;
        for (term, mean) in METADATA.into_iter().zip(means.metadata) {
            named.set_item(PyString::intern(py, term.name), mean)?;
        }
    }
    Ok(named.unbind())
}

pub(crate) fn scan_of(py: Python<'_>, ranking: &Ranking, scan: CoreScan) -> PyResult<Scan> {
    let shared = Arc::new(Shared {
        keywords: scan.keywords,
        weights: (ranking.base == Base::Linear).then_some(ranking.weights),
    });
    let row = |hit: Hit| Py::new(py, Row::of(hit, &shared));
    let rows = |hits: Vec<Hit>| -> PyResult<Py<PyTuple>> {
        let rows: Vec<Py<Row>> = hits.into_iter().map(row).collect::<PyResult<_>>()?;
        Ok(PyTuple::new(py, rows)?.unbind())
    };
    Ok(Scan {
        rows: rows(scan.hits)?,
        watched: rows(scan.watched)?,
        associated: rows(scan.associated)?,
        terms: PyTuple::new(py, scan.terms)?.unbind(),
        stored: scan.stored,
        eligible: scan.eligible,
        scored: scan.eligible,
        walked: scan.walked,
        unembedded: scan.unembedded,
        idfs: PyTuple::new(py, scan.idfs)?.unbind(),
        document_frequencies: PyTuple::new(py, scan.document_frequencies)?.unbind(),
        dates_met: scan.dates_met,
        pool_means: pool_means(py, ranking.base == Base::Linear, &scan.pool_means)?,
    })
}
