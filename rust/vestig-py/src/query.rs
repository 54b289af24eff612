//! What a query asks and gets: filters, ranking, rows.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::eligible::Filter as CoreFilter;
use vestig_core::recall::{Base, Hit, Ranking as CoreRanking, Scan as CoreScan, Weights};
use vestig_core::segment::Id;

use crate::numbers::TraceParams;

/// One id of 16 bytes.
pub(crate) fn id_of(bytes: &[u8]) -> PyResult<Id> {
    let length = bytes.len();
    Id::try_from(bytes)
        .map_err(|_| PyValueError::new_err(format!("expected an id of 16 bytes, got {length}")))
}

/// Ids of 16 bytes each, one after the other.
pub(crate) fn ids_of(bytes: &[u8]) -> PyResult<Vec<Id>> {
    if !bytes.len().is_multiple_of(16) {
        let length = bytes.len();
        return Err(PyValueError::new_err(format!(
            "expected 16 bytes an id, got {length} bytes"
        )));
    }
    bytes.chunks_exact(16).map(id_of).collect()
}

/// Eligibility (R-02, T-13).
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Filter(pub(crate) CoreFilter);

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (*, namespace, known_at_us, past=false, valid_at_us=None, scopes=None,
        kinds=None, tags=None, tags_all=false, sources=None, actors=None, authors=None, roles=None,
        session_ids=None, origin_types=None, since_us=None, until_us=None, created_since_us=None,
        created_until_us=None, include_expired=false, include_archived=false, ids=None,
        exclude_ids=None, min_similarity=None, entities=None, ends=Vec::new()))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        namespace: String,
        known_at_us: i64,
        past: bool,
        valid_at_us: Option<i64>,
        scopes: Option<Vec<Option<String>>>,
        kinds: Option<Vec<usize>>,
        tags: Option<Vec<String>>,
        tags_all: bool,
        sources: Option<Vec<String>>,
        actors: Option<Vec<String>>,
        authors: Option<Vec<String>>,
        roles: Option<Vec<String>>,
        session_ids: Option<Vec<String>>,
        origin_types: Option<Vec<usize>>,
        since_us: Option<i64>,
        until_us: Option<i64>,
        created_since_us: Option<i64>,
        created_until_us: Option<i64>,
        include_expired: bool,
        include_archived: bool,
        ids: Option<&[u8]>,
        exclude_ids: Option<&[u8]>,
        min_similarity: Option<f64>,
        entities: Option<&[u8]>,
        ends: Vec<(Bound<'_, PyBytes>, Option<i64>)>,
    ) -> PyResult<Self> {
        let codes = |codes: Option<Vec<usize>>| -> PyResult<Option<Vec<u8>>> {
            let code =
                |n: usize| u8::try_from(n).map_err(|_| PyValueError::new_err("unknown code"));
            codes
                .map(|codes| codes.into_iter().map(code).collect())
                .transpose()
        };
        let ends = ends
            .iter()
            .map(|(id, end)| Ok((id_of(id.as_bytes())?, *end)));
        Ok(Self(CoreFilter {
            namespace,
            known_at: known_at_us,
            past,
            valid_at: valid_at_us,
            scopes,
            kinds: codes(kinds)?,
            tags,
            tags_all,
            sources,
            actors,
            authors,
            roles,
            session_ids,
            origin_types: codes(origin_types)?,
            since: since_us,
            until: until_us,
            created_since: created_since_us,
            created_until: created_until_us,
            include_expired,
            include_archived,
            ids: ids.map(ids_of).transpose()?,
            exclude_ids: exclude_ids.map(ids_of).transpose()?,
            min_similarity,
            entities: entities.map(ids_of).transpose()?,
            ends: ends.collect::<PyResult<HashMap<_, _>>>()?,
        }))
    }
}

/// How scores are made.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Ranking(pub(crate) CoreRanking);

#[pymethods]
impl Ranking {
    #[new]
    #[pyo3(signature = (*, base, weights, trace, tracerank_power, pool, limit, min_score,
        query_time_us))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        base: &str,
        weights: Vec<(f64, Option<f64>, Option<f64>)>,
        trace: &TraceParams,
        tracerank_power: f64,
        pool: Option<usize>,
        limit: usize,
        min_score: Option<f64>,
        query_time_us: i64,
    ) -> PyResult<Self> {
        let base = match base {
            "semantic" => Base::Semantic,
            "linear" => Base::Linear,
            "cosine" => Base::Cosine,
            _ => {
                return Err(PyValueError::new_err(
                    "expected base semantic, linear or cosine",
                ));
            }
        };
        let given = weights.len();
        let weights: Vec<Weights> = weights
            .into_iter()
            .map(|(bias, cosine, lexical)| Weights {
                bias,
                cosine,
                lexical,
            })
            .collect();
        let weights = weights.try_into().map_err(|_| {
            PyValueError::new_err(format!("expected weights for 4 origins, got {given}"))
        })?;
        let trace = trace.0.clone();
        let query_time = query_time_us;
        Ok(Self(CoreRanking {
            base,
            weights,
            trace,
            tracerank_power,
            pool,
            limit,
            min_score,
            query_time,
        }))
    }
}

/// One returned memory with every number that made its rank.
#[pyclass(frozen, get_all, module = "vestig._core")]
pub(crate) struct Row {
    id: Py<PyBytes>,
    final_score: f64,
    similarity: f64,
    semantic_score: f64,
    start_score: f64,
    base: f64,
    origin: u8,
    embedded: bool,
    cosine_raw: f64,
    cosine_normalised: f64,
    lexical_raw: Option<f64>,
    lexical_normalised: Option<f64>,
    matched_terms: Vec<usize>,
    filled: bool,
    trace: f64,
    basic: f64,
    connectivity: f64,
    confidence: f64,
    unclipped: f64,
    tracerank: f64,
    events: u32,
    stability: u8,
}

fn row_of(py: Python<'_>, hit: Hit) -> Row {
    Row {
        id: PyBytes::new(py, &hit.id).unbind(),
        final_score: hit.final_score,
        similarity: hit.cosine,
        semantic_score: hit.cosine,
        start_score: hit.start_score,
        base: hit.base,
        origin: hit.origin,
        embedded: hit.embedded,
        cosine_raw: hit.cosine,
        cosine_normalised: hit.cosine_normalised,
        lexical_raw: hit.lexical.map(|(raw, _)| raw),
        lexical_normalised: hit.lexical.map(|(_, normalised)| normalised),
        matched_terms: hit.matched_terms,
        filled: hit.filled,
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
    terms: Vec<String>,
    stored: usize,
    eligible: usize,
    scored: usize,
    below_min_score: usize,
    unembedded: usize,
    cosine_max: Option<f64>,
    lexical_max: Option<f64>,
}

pub(crate) fn scan_of(py: Python<'_>, scan: CoreScan) -> PyResult<Scan> {
    let rows = scan
        .hits
        .into_iter()
        .map(|hit| Py::new(py, row_of(py, hit)));
    Ok(Scan {
        rows: rows.collect::<PyResult<_>>()?,
        terms: scan.terms,
        stored: scan.stored,
        eligible: scan.eligible,
        scored: scan.eligible,
        below_min_score: scan.below_min_score,
        unembedded: scan.unembedded,
        cosine_max: scan.cosine_max,
        lexical_max: scan.lexical_max,
    })
}
