//! The filter: which memories may be found.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vestig_core::query::filter::Filter as CoreFilter;

use crate::ids::{id_of, ids_of};

/// Which memories may be found.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Filter(pub(crate) CoreFilter);

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (*, namespace, known_at_us, past=false, valid_at_us=None, asked_at_us=None, scopes=None,
        kinds=None, tags=None, tags_all=false, sources=None, actors=None, authors=None, roles=None,
        session_ids=None, exclude_authors=Vec::new(), exclude_session_ids=Vec::new(),
        exclude_tags=Vec::new(), exclude_sources=Vec::new(), origin_types=None, since_us=None, until_us=None, created_since_us=None,
        created_until_us=None, include_expired=false, include_archived=false, ids=None,
        exclude_ids=None, min_similarity=None, entities=None, ends=Vec::new()))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        namespace: String,
        known_at_us: i64,
        past: bool,
        valid_at_us: Option<i64>,
        asked_at_us: Option<i64>,
        scopes: Option<Vec<Option<String>>>,
        kinds: Option<Vec<usize>>,
        tags: Option<Vec<String>>,
        tags_all: bool,
        sources: Option<Vec<String>>,
        actors: Option<Vec<String>>,
        authors: Option<Vec<String>>,
        roles: Option<Vec<String>>,
        session_ids: Option<Vec<String>>,
        exclude_authors: Vec<String>,
        exclude_session_ids: Vec<String>,
        exclude_tags: Vec<String>,
        exclude_sources: Vec<String>,
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
            asked_at: asked_at_us,
            scopes,
            kinds: codes(kinds)?,
            tags,
            tags_all,
            sources,
            actors,
            authors,
            roles,
            session_ids,
            exclude_authors,
            exclude_session_ids,
            exclude_tags,
            exclude_sources,
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

    /// The same filter, for these ids alone.
    fn with_ids(&self, ids: &[u8]) -> PyResult<Self> {
        let mut filter = self.0.clone();
        filter.ids = Some(ids_of(ids)?);
        Ok(Self(filter))
    }

    #[getter]
    fn has_ids(&self) -> bool {
        self.0.ids.is_some()
    }
}
