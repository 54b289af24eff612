//! The query: what analysis made of a text.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::kernels::piece_codes::QueryPieces;
use vestig_core::kernels::temporal::Window;
use vestig_core::recall::{Query as CoreQuery, QueryParts, TopicPieces};
use vestig_core::segment::Id;
use vestig_core::words;

use crate::errors::to_python;
use crate::ids::id_of;
use crate::numbers::{floats, to_bytes};
use crate::words::ContentTerm;

/// Ids, codes and steps of the word pieces of a query.
type QueryPieceBytes<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);
/// (id, score).
type Scored<'py> = (Bound<'py, PyBytes>, f64);
/// Hidden states of word pieces, and by piece places in the content terms.
type TopicStates<'py> = (Bound<'py, PyBytes>, Vec<Vec<u32>>);

fn topic_pieces((states, terms): TopicStates<'_>, content: usize) -> PyResult<TopicPieces> {
    let states = floats("topic", states.as_any())?;
    if terms.is_empty() || !states.len().is_multiple_of(terms.len()) {
        return Err(PyValueError::new_err(format!(
            "expected states of one length for {} word pieces, got {} numbers",
            terms.len(),
            states.len()
        )));
    }
    if terms
        .iter()
        .flatten()
        .any(|place| *place as usize >= content)
    {
        return Err(PyValueError::new_err(format!(
            "expected places in {content} content terms"
        )));
    }
    Ok(TopicPieces { states, terms })
}

fn scores(given: &[Scored<'_>]) -> PyResult<Vec<(Id, f64)>> {
    let one = |(id, score): &Scored<'_>| Ok((id_of(id.as_bytes())?, *score));
    given.iter().map(one).collect()
}

fn query_pieces((ids, codes, steps): QueryPieceBytes<'_>) -> PyResult<QueryPieces> {
    QueryPieces::from_bytes(ids.as_bytes(), codes.as_bytes(), steps.as_bytes()).map_err(to_python)
}

/// A query, analysed.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Query(pub(crate) CoreQuery);

#[pymethods]
impl Query {
    #[new]
    #[pyo3(signature = (*, vector, text, query_time_us, keywords=Vec::new(), windows=Vec::new(),
        entities=Vec::new(), seed=0, dates=Vec::new(), pieces=None, rerank_scores=None,
        names_text=None, content=Vec::new(), topic=None, pieces_in_time=Vec::new()))]
    // The keywords are the contract of the stub file.
    #[allow(clippy::too_many_arguments)]
    fn new(
        vector: Option<&Bound<'_, PyAny>>,
        text: Option<&str>,
        query_time_us: i64,
        keywords: Vec<String>,
        windows: Vec<Window>,
        entities: Vec<Scored<'_>>,
        seed: u64,
        dates: Vec<(Option<i64>, Option<i64>, bool)>,
        pieces: Option<QueryPieceBytes<'_>>,
        rerank_scores: Option<Vec<Scored<'_>>>,
        names_text: Option<String>,
        content: Vec<PyRef<'_, ContentTerm>>,
        topic: Option<TopicStates<'_>>,
        pieces_in_time: Vec<u32>,
    ) -> PyResult<Self> {
        let topic = topic
            .map(|given| topic_pieces(given, content.len()))
            .transpose()?;
        let reversed = |start: Option<i64>, end| start.zip(end).is_some_and(|(s, e)| s > e);
        let dates_reversed = dates.iter().any(|date| reversed(date.0, date.1));
        if dates_reversed || windows.iter().any(|w| reversed(w.0, w.1)) {
            let text = "expected windows that end after they start";
            return Err(PyValueError::new_err(text));
        }
        Ok(Self(CoreQuery::new(QueryParts {
            vector: vector.map(|v| floats("vector", v)).transpose()?,
            terms: text.map(|text| words::terms(text, None)),
            content: content.iter().map(|one| one.0.clone()).collect(),
            topic,
            names_text,
            keywords,
            windows,
            entities: scores(&entities)?,
            query_time: query_time_us,
            seed,
            dates,
            pieces: pieces.map(query_pieces).transpose()?,
            pieces_in_time,
            rerank_scores: rerank_scores.as_deref().map(scores).transpose()?,
        })))
    }

    #[getter]
    fn vector<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let vector = self.0.vector.as_ref()?;
        Some(to_bytes(py, vector))
    }

    fn without_vector(&self) -> Self {
        Self(self.0.without_vector())
    }

    fn with_rerank_scores(&self, given: Option<Vec<Scored<'_>>>) -> PyResult<Self> {
        let given = given.as_deref().map(scores).transpose()?;
        Ok(Self(self.0.with_rerank_scores(given)))
    }
}
