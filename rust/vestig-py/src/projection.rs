//! Binding of the projection (D-10): convert, release the interpreter, wrap.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use vestig_core::eligible::eligible_ids;
use vestig_core::format::Identity;
use vestig_core::merging::Goal;
use vestig_core::names;
use vestig_core::projection::Projection as CoreProjection;
use vestig_core::recall::{Effort, recall};
use vestig_core::related::related;
use vestig_core::row::{Forward, LOWER_CASE, nullable, row_version};
use vestig_core::search;
use vestig_core::segment::{EdgeVersion, EventRow, Id, NO_TIME, OPEN_START};
use vestig_core::similar::{self, Limits, Probe};
use vestig_core::tail::NewRow;
use vestig_core::words;

use crate::errors::to_python;
use crate::numbers::{floats, to_bytes};
use crate::query::{Filter, id_of, ids_of};
use crate::ranking::{Query, Ranking};
use crate::rows::{FIELDS, new_row};
use crate::scan::{Row, Scan, scan_of};

/// Runs without the interpreter. A panic becomes a RuntimeError: snapshots are replaced whole, so
/// the projection is as it was before the call.
fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> vestig_core::Result<T> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(to_python),
        Err(_) => Err(PyRuntimeError::new_err(
            "the core met a state that should not exist; nothing was changed: run `vestig rebuild`",
        )),
    }
}

/// Segments, manifest and tail of one store.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Projection(CoreProjection);

impl Projection {
    fn check(&self, vector: Option<&Vec<f32>>) -> PyResult<()> {
        let dimensions = self.0.identity().dimensions as usize;
        match vector.map(Vec::len) {
            Some(found) if found != dimensions => Err(PyValueError::new_err(format!(
                "expected {dimensions} dimensions, got {found}"
            ))),
            _ => Ok(()),
        }
    }
}

#[pymethods]
impl Projection {
    #[staticmethod]
    #[pyo3(signature = (path, store_uuid, dimensions, model, read_only=false))]
    fn open(
        py: Python<'_>,
        path: Option<PathBuf>,
        store_uuid: &[u8],
        dimensions: u32,
        model: String,
        read_only: bool,
    ) -> PyResult<Self> {
        let identity = Identity {
            store_uuid: id_of(store_uuid)?,
            dimensions,
            model,
            analyser: words::analyser_version(),
        };
        Ok(Self(run(py, || {
            CoreProjection::open(path, identity, read_only)
        })?))
    }

    #[getter]
    fn discarded(&self) -> Option<&str> {
        self.0.discarded()
    }

    #[getter]
    fn applied_seq(&self) -> u64 {
        self.0.snapshot().applied_seq
    }

    #[getter]
    fn chain_head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.snapshot().chain_head)
    }

    #[getter]
    fn rows(&self) -> usize {
        self.0.snapshot().rows()
    }

    #[getter]
    fn entity_rows(&self) -> usize {
        self.0.snapshot().entity_rows()
    }

    #[getter]
    fn tail_rows(&self) -> usize {
        self.0.snapshot().tail_rows()
    }

    #[getter]
    fn segments(&self) -> usize {
        self.0.snapshot().published
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.0.snapshot().generation
    }

    fn sizes(&self) -> Vec<(&'static str, u64)> {
        self.0.sizes()
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        run(py, || self.0.refresh())
    }

    #[pyo3(signature = (rows, upto_seq, chain_head, removed=Vec::new()))]
    fn apply(
        &self,
        py: Python<'_>,
        rows: Vec<Bound<'_, PyAny>>,
        upto_seq: u64,
        chain_head: &[u8],
        removed: Vec<(Bound<'_, PyBytes>, u64)>,
    ) -> PyResult<()> {
        let head = <[u8; 32]>::try_from(chain_head)
            .map_err(|_| PyValueError::new_err("expected a chain head of 32 bytes"))?;
        let rows = rows
            .iter()
            .map(new_row)
            .collect::<PyResult<Vec<NewRow>>>()?;
        let removed = removed
            .iter()
            .map(|(id, seq)| Ok((id_of(id.as_bytes())?, *seq)))
            .collect::<PyResult<Vec<_>>>()?;
        run(py, || {
            self.0.apply_removing(&rows, &removed, upto_seq, head)
        })
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    fn reset(&self, py: Python<'_>) {
        py.detach(|| self.0.reset());
    }

    #[pyo3(signature = (compact=false))]
    fn publish(&self, py: Python<'_>, compact: bool) -> PyResult<u64> {
        run(py, || self.0.publish(compact))
    }

    #[pyo3(signature = (max_segments=1, max_bytes=u64::MAX, wait=false))]
    fn merge(
        &self,
        py: Python<'_>,
        max_segments: usize,
        max_bytes: u64,
        wait: bool,
    ) -> PyResult<u64> {
        let goal = Goal {
            max_segments,
            max_bytes,
            wait,
        };
        run(py, || self.0.merge(goal))
    }

    fn stop_merging(&self) {
        self.0.stop_merging();
    }

    fn sweep(&self, py: Python<'_>) -> PyResult<usize> {
        run(py, || self.0.sweep())
    }

    fn eligible<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        filter: &Filter,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ids = run(py, || {
            Ok(eligible_ids(self.0.snapshot_at(seq)?.as_ref(), &filter.0))
        })?;
        Ok(PyBytes::new(py, ids.as_flattened()))
    }

    fn verify(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.verify())
    }

    fn row<'py>(&self, py: Python<'py>, id: &[u8]) -> PyResult<Option<Bound<'py, PyDict>>> {
        let snapshot = self.0.snapshot();
        let Some((segment, number)) = snapshot.find(&id_of(id)?) else {
            return Ok(None);
        };
        let row = row_version(segment, &Forward::of_row(segment, number), number);
        let columns = PyDict::new(py);
        columns.set_item("id", PyBytes::new(py, &row.id))?;
        columns.set_item("seq", row.seq)?;
        columns.set_item("wseq", row.wseq)?;
        columns.set_item("author", row.author)?;
        columns.set_item("namespace", row.namespace)?;
        columns.set_item("scope", row.scope)?;
        columns.set_item("kind", row.attributes.kind)?;
        columns.set_item("status", row.attributes.status)?;
        columns.set_item("role", row.role)?;
        columns.set_item("session_id", row.session)?;
        columns.set_item("sequence", row.sequence)?;
        columns.set_item("origin", row.attributes.origin)?;
        columns.set_item("stability", row.attributes.stability)?;
        columns.set_item("pinned", row.attributes.pinned)?;
        let times = ["t_valid_us", "t_invalid_us", "t_created_us", "t_expired_us"];
        for (name, time) in times.into_iter().zip(row.times) {
            columns.set_item(name, nullable(time))?;
        }
        let dimensions = self.0.identity().dimensions as usize;
        let unit = row
            .vector
            .unit()
            .map(|unit| to_bytes(py, &unit[..dimensions]));
        columns.set_item("unit", unit)?;
        for (name, list) in ["tags", "sources", "actors", "keywords"]
            .into_iter()
            .zip(row.lists)
        {
            columns.set_item(name, list)?;
        }
        let event = |e: &EventRow| (e.kind, e.occurred, e.recorded, e.seq, e.row);
        columns.set_item("events", row.events.iter().map(event).collect::<Vec<_>>())?;
        let count = |(term, count)| (term, count & !LOWER_CASE);
        let terms = row.terms.into_iter().map(count);
        columns.set_item("terms", terms.collect::<HashMap<&str, u32>>())?;
        let open = |time, none| (time != none).then_some(time);
        let window = |(start, end): &(i64, i64)| (open(*start, OPEN_START), open(*end, NO_TIME));
        let windows: Vec<_> = row.windows.iter().map(window).collect();
        columns.set_item("windows", windows)?;
        let edge = |e: &EdgeVersion| {
            let ids = (PyBytes::new(py, &e.id), PyBytes::new(py, &e.end));
            let (created, expired) = (e.created, nullable(e.expired));
            (
                ids.0,
                ids.1,
                e.kind,
                e.weight,
                e.confidence,
                created,
                expired,
            )
        };
        columns.set_item("edges", row.edges.iter().map(edge).collect::<Vec<_>>())?;
        let questions = row.questions.iter();
        let questions = questions.map(|unit| to_bytes(py, &unit[..dimensions]));
        columns.set_item("questions", questions.collect::<Vec<_>>())?;
        columns.set_item("names", row.names)?;
        columns.set_item("length", row.length)?;
        Ok(Some(columns))
    }

    fn ids<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let ids = py.detach(|| self.0.snapshot().ids(false));
        PyBytes::new(py, ids.as_flattened())
    }

    fn entity_ids<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let ids = py.detach(|| self.0.snapshot().ids(true));
        PyBytes::new(py, ids.as_flattened())
    }

    #[allow(clippy::type_complexity)]
    fn find_names<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        namespace: &str,
        words: Vec<(String, String, String, String)>,
        known_at_us: i64,
    ) -> PyResult<Vec<(usize, usize, Bound<'py, PyBytes>, String)>> {
        let word = |(raw, left, right, bare)| names::Word {
            raw,
            left,
            right,
            bare,
        };
        let words: Vec<names::Word> = words.into_iter().map(word).collect();
        let found = run(py, || {
            let snapshot = self.0.snapshot_at(seq)?;
            Ok(names::find_names(&snapshot, namespace, &words, known_at_us))
        })?;
        let wrap = |f: names::Found| (f.first, f.count, PyBytes::new(py, &f.entity), f.name);
        Ok(found.into_iter().map(wrap).collect())
    }

    fn lowercase(
        &self,
        py: Python<'_>,
        seq: u64,
        namespace: &str,
        words: Vec<String>,
    ) -> PyResult<Vec<bool>> {
        run(py, || {
            let snapshot = self.0.snapshot_at(seq)?;
            Ok(names::lowercase(&snapshot, namespace, &words))
        })
    }

    #[pyo3(signature = (seq, query, filter, ranking, threads=1))]
    fn recall(
        &self,
        py: Python<'_>,
        seq: u64,
        query: &Query,
        filter: &Filter,
        ranking: &Ranking,
        threads: usize,
    ) -> PyResult<Scan> {
        self.check(query.0.vector.as_ref())?;
        let scan = run(py, || {
            let snapshot = self.0.snapshot_at(seq)?;
            let effort = Effort::threads(threads);
            Ok(recall(&snapshot, &query.0, &filter.0, &ranking.0, effort))
        });
        scan_of(py, scan?)
    }

    #[allow(clippy::too_many_arguments)]
    fn search<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        vector: &Bound<'_, PyAny>,
        filter: &Filter,
        memories: bool,
        entities: bool,
        top: usize,
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, u8, f64)>> {
        let vector = floats("vector", vector)?;
        self.check(Some(&vector))?;
        let found = run(py, || {
            let snapshot = self.0.snapshot_at(seq)?;
            let kinds = (memories, entities);
            Ok(search::search(&snapshot, &vector, &filter.0, kinds, top))
        })?;
        let wrap = |(id, kind, value): (Id, u8, f64)| (PyBytes::new(py, &id), kind, value);
        Ok(found.into_iter().map(wrap).collect())
    }

    #[pyo3(signature = (seq, seeds, depth, filter, memories, entities, max_degree=1000,
        others=false))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn neighbourhood<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        seeds: &[u8],
        depth: usize,
        filter: &Filter,
        memories: bool,
        entities: bool,
        max_degree: usize,
        others: bool,
    ) -> PyResult<(
        Vec<(Bound<'py, PyBytes>, u8, usize)>,
        Vec<Bound<'py, PyBytes>>,
    )> {
        let reach = search::Reach {
            seeds: ids_of(seeds)?,
            depth,
            memories,
            entities,
            max_degree,
            others,
        };
        let (around, wide) = run(py, || {
            let snapshot = self.0.snapshot_at(seq)?;
            Ok(search::neighbourhood(&snapshot, &filter.0, &reach))
        })?;
        let wrap = |(id, kind, depth): (Id, u8, usize)| (PyBytes::new(py, &id), kind, depth);
        let wide = wide.iter().map(|id| PyBytes::new(py, id));
        Ok((around.into_iter().map(wrap).collect(), wide.collect()))
    }

    #[allow(clippy::type_complexity)]
    fn entity_similar<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        namespace: &str,
        vectors: &Bound<'_, PyAny>,
        types: Vec<String>,
        threshold: f64,
    ) -> PyResult<Vec<Option<(Bound<'py, PyBytes>, f64)>>> {
        let dimensions = self.0.identity().dimensions as usize;
        let vectors = floats("vectors", vectors)?;
        if vectors.len() != types.len() * dimensions {
            return Err(PyValueError::new_err("expected one vector per type"));
        }
        let vectors = vectors.chunks_exact(dimensions).map(<[f32]>::to_vec);
        let asked: Vec<_> = vectors.zip(types).collect();
        let found = run(py, || {
            let snapshot = self.0.snapshot_at(seq)?;
            Ok(search::entity_similar(
                &snapshot, namespace, &asked, threshold,
            ))
        })?;
        let wrap = |(id, value): (Id, f64)| (PyBytes::new(py, &id), value);
        Ok(found.into_iter().map(|best| best.map(wrap)).collect())
    }

    #[pyo3(signature = (seq, vectors, namespace, scopes, authors, exclude, near_threshold,
        near_top, related_threshold, related_top, threads=1))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn similar<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        vectors: &Bound<'_, PyAny>,
        namespace: &str,
        scopes: Vec<Option<String>>,
        authors: Vec<Option<String>>,
        exclude: Vec<Bound<'_, PyBytes>>,
        near_threshold: f64,
        near_top: usize,
        related_threshold: f64,
        related_top: usize,
        threads: usize,
    ) -> PyResult<
        Vec<(
            Vec<(Bound<'py, PyBytes>, f64)>,
            Vec<(Bound<'py, PyBytes>, f64)>,
        )>,
    > {
        let dimensions = self.0.identity().dimensions as usize;
        let vectors = floats("vectors", vectors)?;
        let count = vectors.len() / dimensions;
        let lengths = [scopes.len(), authors.len(), exclude.len()];
        if lengths != [count; 3] || !vectors.len().is_multiple_of(dimensions) {
            let text = "expected one vector, scope, author and exclusion each per query";
            return Err(PyValueError::new_err(text));
        }
        let places = scopes.into_iter().zip(authors).zip(exclude);
        let probes =
            vectors
                .chunks_exact(dimensions)
                .zip(places)
                .map(|(v, ((scope, author), ids))| {
                    Ok(Probe {
                        vector: v.to_vec(),
                        scope,
                        author,
                        exclude: ids_of(ids.as_bytes())?,
                    })
                });
        let probes = probes.collect::<PyResult<Vec<Probe>>>()?;
        let near = Limits {
            threshold: near_threshold,
            top: near_top,
        };
        let related = Limits {
            threshold: related_threshold,
            top: related_top,
        };
        let found = run(py, || {
            let snapshot = self.0.snapshot_at(seq)?;
            Ok(similar::similar(
                &snapshot, namespace, &probes, near, related, threads,
            ))
        });
        let wrap = |list: similar::Neighbours| {
            list.into_iter()
                .map(|(id, cosine)| (PyBytes::new(py, &id), cosine))
                .collect()
        };
        Ok(found?
            .into_iter()
            .map(|(a, b)| (wrap(a), wrap(b)))
            .collect())
    }

    #[pyo3(signature = (seq, namespace, first, count, threshold, top, threads=1))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn related<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        namespace: &str,
        first: usize,
        count: usize,
        threshold: f64,
        top: usize,
        threads: usize,
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, Vec<(Bound<'py, PyBytes>, f64)>)>> {
        let asked = first..first.saturating_add(count);
        let found = run(py, || {
            let snapshot = self.0.snapshot_at(seq)?;
            let limits = Limits { threshold, top };
            Ok(related(&snapshot, namespace, asked, limits, threads))
        });
        let wrap = |(id, cosine): ([u8; 16], f64)| (PyBytes::new(py, &id), cosine);
        Ok(found?
            .into_iter()
            .map(|(id, near)| (PyBytes::new(py, &id), near.into_iter().map(wrap).collect()))
            .collect())
    }
}

/// Adds these names to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FORMAT_VERSION", vestig_core::format::FORMAT_VERSION)?;
    module.add("PROJECTION_FIELDS", FIELDS)?;
    module.add_class::<Filter>()?;
    module.add_class::<Row>()?;
    module.add_class::<Scan>()?;
    module.add_class::<Projection>()
}
