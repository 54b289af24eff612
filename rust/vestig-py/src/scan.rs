//! The result of a recall. Rows hold the core's numbers; what is costly to turn into Python objects
//! is made when it is read first, and kept.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use vestig_core::recall::{
    Evidence, Hit, PathStep, Ranking, Scan as CoreScan, Scoring as CoreScoring, Signal,
};
use vestig_core::segment::Id;

use crate::ids::text_of;

/// Contribution, name, raw, normalised, weight.
type Term<'py> = (f64, Bound<'py, PyString>, f64, Option<f64>, f64);

/// What the rows of a scan have in common.
struct Shared {
    keywords: Vec<String>,
    /// Signals with a weight, by code of OriginType.
    weighed: [Vec<Signal>; 4],
    /// By code of OriginType.
    evidence: [Option<Evidence>; 4],
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
    level: Option<f64>,
    #[pyo3(get)]
    constant: f64,
    #[pyo3(get)]
    chosen: bool,
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
    /// The memory before which it was put, whose final score it has.
    newer_than: Option<Id>,
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
            level: hit.level,
            constant: hit.constant,
            chosen: hit.chosen,
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
    /// The signals with a value and one of these weights, greatest contribution first.
    fn weighed<'py>(
        &self,
        py: Python<'py>,
        weights: &Bound<'py, PyDict>,
        constant: f64,
    ) -> PyResult<Vec<Term<'py>>> {
        let mut terms = Vec::with_capacity(Signal::COUNT);
        if constant != 0.0 {
            let name = intern!(py, "bias").clone();
            terms.push((constant, name, 1.0, Some(1.0), constant));
        }
        let names = signal_names(py);
        for signal in &self.shared.weighed[usize::from(self.hit.origin & 3)] {
            let (Some(raw), normalised) = self.hit.signals[*signal] else {
                continue;
            };
            let name = names[*signal as usize].bind(py);
            let weight = weights.get_item(name)?;
            let weight: f64 = weight.map_or(Ok(0.0), |weight| weight.extract())?;
            if weight != 0.0 {
                let added = normalised.unwrap_or(raw) * weight;
                terms.push((added, name.clone(), raw, normalised, weight));
            }
        }
        terms.sort_by(|one, other| other.0.abs().total_cmp(&one.0.abs()));
        Ok(terms)
    }

    /// (raw, normalised) of one signal.
    fn signal(&self, name: &str) -> PyResult<(Option<f64>, Option<f64>)> {
        match Signal::named(name) {
            Some(signal) => Ok(self.hit.signals[signal]),
            None => Err(PyKeyError::new_err(format!(
                "expected a signal, got {name}"
            ))),
        }
    }

    /// scale, sum, cosine, lexical, best, mean of the row's origin.
    #[getter]
    fn evidence(&self) -> Option<(f64, f64, f64, f64, f64, f64)> {
        let own = self.shared.evidence[usize::from(self.hit.origin & 3)]?;
        let Evidence {
            scale,
            sum,
            cosine,
            lexical,
            best,
            mean,
        } = own;
        Some((scale, sum, cosine, lexical, best, mean))
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

    /// The same row put directly before another one, with that one's final score.
    fn put_before(&self, older: &Self) -> Self {
        let mut row = Self::of(self.hit.clone(), &self.shared);
        row.final_score = older.final_score;
        row.newer_than = Some(older.hit.id);
        row
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
    scorings: Py<PyTuple>,
}

/// What memories that are scored together have in common.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Scoring {
    pub(crate) own: CoreScoring,
    maxima: PyOnceLock<Py<PyTuple>>,
    idfs: PyOnceLock<Py<PyTuple>>,
}

#[pymethods]
impl Scoring {
    #[getter]
    fn maxima<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        cached(py, &self.maxima, || self.own.maxima.values().to_vec())
    }

    #[getter]
    fn idfs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        cached(py, &self.idfs, || self.own.idfs.clone())
    }

    #[getter]
    fn topic_of_query(&self) -> Option<bool> {
        self.own.topic_of_query
    }
}

pub(crate) fn scan_of(py: Python<'_>, ranking: &Ranking, scan: CoreScan) -> PyResult<Scan> {
    let shared = Arc::new(Shared {
        keywords: scan.keywords,
        weighed: std::array::from_fn(|origin| ranking.weighed(origin)),
        evidence: scan.scoring_of.map(|place| scan.scorings[place].evidence),
    });
    let row = |hit: Hit| Py::new(py, Row::of(hit, &shared));
    let rows = |hits: Vec<Hit>| -> PyResult<Py<PyTuple>> {
        let rows: Vec<Py<Row>> = hits.into_iter().map(row).collect::<PyResult<_>>()?;
        Ok(PyTuple::new(py, rows)?.unbind())
    };
    let scoring = |own: CoreScoring| {
        let (maxima, idfs) = (PyOnceLock::new(), PyOnceLock::new());
        Py::new(py, Scoring { own, maxima, idfs })
    };
    let scorings = scan.scorings.into_iter().map(scoring);
    let scorings: Vec<Py<Scoring>> = scorings.collect::<PyResult<_>>()?;
    let by_origin = scan.scoring_of.map(|place| scorings[place].bind(py));
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
        scorings: PyTuple::new(py, by_origin)?.unbind(),
    })
}
