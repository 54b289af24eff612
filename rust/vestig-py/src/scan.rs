//! What a query gets: rows with every number that made their rank.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::recall::{Hit, Path, Scan as CoreScan};
use vestig_core::segment::Id;

/// Raw and normalised value.
type Signal = (Option<f64>, Option<f64>);
/// (edges in hexadecimal joined by `|`, weight, p, u).
type Step = (String, f64, f64, Option<f64>);

/// One memory with every number that made its rank.
#[pyclass(frozen, get_all, module = "vestig._core")]
pub(crate) struct Row {
    id: Py<PyBytes>,
    final_score: f64,
    similarity: f64,
    semantic_score: f64,
    start_score: f64,
    base: f64,
    origin: u8,
    kind: u8,
    embedded: bool,
    signals: Vec<Signal>,
    hypothetical: Option<(u32, f64)>,
    metadata_score: Option<f64>,
    alpha_used: Option<f64>,
    matched_terms: Vec<usize>,
    matched_keywords: Vec<String>,
    matched_entities: Vec<Py<PyBytes>>,
    filled: bool,
    direct: bool,
    start_rank: Option<usize>,
    pool_rank: Option<usize>,
    path: Vec<(u8, Py<PyBytes>)>,
    steps: Vec<Step>,
    signal_strength: f64,
    path_score: f64,
    start: Option<Py<PyBytes>>,
    start_base: Option<f64>,
    trace: f64,
    basic: f64,
    connectivity: f64,
    confidence: f64,
    unclipped: f64,
    tracerank: f64,
    events: u32,
    stability: u8,
}

fn hex(ids: &[Id]) -> String {
    let one = |id: &Id| id.iter().map(|byte| format!("{byte:02x}")).collect();
    ids.iter().map(one).collect::<Vec<String>>().join("|")
}

fn row_of(py: Python<'_>, hit: Hit, keywords: &[String]) -> Row {
    let bytes = |id: &Id| PyBytes::new(py, id).unbind();
    let keyword = |at: &usize| keywords[*at].clone();
    let steps = hit.path.as_ref().map_or(&[][..], |path: &Path| &path.steps);
    let nodes = steps.iter().flat_map(|step| &step.nodes);
    Row {
        id: bytes(&hit.id),
        final_score: hit.final_score,
        similarity: hit.cosine,
        semantic_score: hit.semantic,
        start_score: hit.start_score,
        base: hit.base,
        origin: hit.origin,
        kind: hit.kind,
        embedded: hit.embedded,
        signals: hit.signals.values().to_vec(),
        hypothetical: hit.question,
        metadata_score: hit.metadata,
        alpha_used: hit.alpha,
        matched_terms: hit.matched_terms,
        matched_keywords: hit.matched_keywords.iter().map(keyword).collect(),
        matched_entities: hit.matched_entities.iter().map(bytes).collect(),
        filled: hit.filled,
        direct: hit.direct,
        start_rank: hit.start_rank,
        pool_rank: hit.pool_rank,
        path: nodes.map(|(kind, id)| (*kind, bytes(id))).collect(),
        steps: steps
            .iter()
            .map(|step| (hex(&step.edges), step.weight, step.p, step.u))
            .collect(),
        signal_strength: hit.path.as_ref().map_or(1.0, |path| path.signal),
        path_score: hit.path_score,
        start: hit.path.as_ref().map(|path| bytes(&path.start)),
        start_base: hit.path.as_ref().map(|path| path.start_base),
        trace: hit.trace.trace,
        basic: hit.trace.basic,
        connectivity: hit.trace.connectivity,
        confidence: hit.trace.confidence,
        unclipped: hit.trace.unclipped,
        tracerank: hit.trace.clipped,
        events: hit.trace.events,
        stability: hit.stability,
    }
}

/// Result of one crossing.
#[pyclass(frozen, get_all, module = "vestig._core")]
pub(crate) struct Scan {
    rows: Vec<Py<Row>>,
    watched: Vec<Py<Row>>,
    terms: Vec<String>,
    stored: usize,
    eligible: usize,
    scored: usize,
    walked: usize,
    below_min_score: usize,
    unembedded: usize,
    maxima: Vec<Option<f64>>,
    idfs: Vec<f64>,
}

pub(crate) fn scan_of(py: Python<'_>, scan: CoreScan) -> PyResult<Scan> {
    let keywords = scan.keywords;
    let rows = |hits: Vec<Hit>| -> PyResult<Vec<Py<Row>>> {
        let row = |hit| Py::new(py, row_of(py, hit, &keywords));
        hits.into_iter().map(row).collect()
    };
    Ok(Scan {
        rows: rows(scan.hits)?,
        watched: rows(scan.watched)?,
        terms: scan.terms,
        stored: scan.stored,
        eligible: scan.eligible,
        scored: scan.eligible,
        walked: scan.walked,
        below_min_score: scan.below_min_score,
        unembedded: scan.unembedded,
        maxima: scan.maxima.values().to_vec(),
        idfs: scan.idfs,
    })
}
