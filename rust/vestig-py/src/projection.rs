//! Binding of the projection: convert, release the interpreter, wrap.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use vestig_core::query::similar::{Earlier, Limits, Wanted, similar};
use vestig_core::query::{
    entity_names,
    filter::{eligible_count, eligible_ids},
    related::{Texts, related},
    search,
    versions::{
        Found, Question, ReadPair, SIGNALS, Signals, Weights, version_pairs, version_signals,
        versions, versions_of,
    },
};
use vestig_core::recall::{
    Effort, Pool, Query as CoreQuery, Selection, asked, idfs, recall, recall_many,
};
use vestig_core::segment::format::Identity;
use vestig_core::segment::{EVENT_TYPES, Id};
use vestig_core::snapshot::Snapshot;
use vestig_core::snapshot::merge::MergeGoal;
use vestig_core::snapshot::projection::Projection as CoreProjection;
use vestig_core::words;
use vestig_core::words::names::Entity;

use crate::errors::run;
use crate::filter::Filter;
use crate::ids::{id_of, ids_of};
use crate::names::{AnalysedText, EntityRows};
use crate::neighbours::{
    Neighbour, NodeValue, SimilarValues, neighbour, neighbours, node_values, probes_of,
    similar_values,
};
use crate::numbers::floats;
use crate::query::Query;
use crate::ranking::{Ranking, pool_of};
use crate::rows::{ROW_FIELDS, columns, new_rows, revision};
use crate::scan::{Row, Scan, scan_of};

/// (first word, number of words, entity, name as stored).
type NameHit<'py> = (usize, usize, Bound<'py, PyBytes>, String);
/// Ids that the ledger has to be asked for; (id, type, name) of entities; (name, type) of other
/// names.
type QueryNameValues = (
    Vec<Id>,
    Vec<(String, String, String)>,
    Vec<(String, String)>,
);

/// (id, L, logit of a judge, a model stated it).
type FoundRow = (Vec<u8>, f64, Option<f64>, bool, Option<(i64, i64)>);

fn found(rows: Vec<FoundRow>) -> PyResult<Vec<Found>> {
    rows.into_iter()
        .map(|(id, level, answers, unconfirmed, said_again)| {
            Ok(Found {
                id: id_of(&id)?,
                level,
                answers,
                unconfirmed,
                said_again,
            })
        })
        .collect()
}

fn read_pairs(pairs: Vec<(usize, usize, f64)>) -> Vec<ReadPair> {
    let pair = |(older, newer, reads)| ReadPair {
        older,
        newer,
        reads,
    };
    pairs.into_iter().map(pair).collect()
}

/// Segments, manifest and tail of one store.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct Projection(CoreProjection);

impl Projection {
    fn dimensions(&self) -> usize {
        self.0.identity().dimensions as usize
    }

    fn check(&self, vector: Option<&Vec<f32>>) -> PyResult<()> {
        let dimensions = self.dimensions();
        let found = vector.map_or(dimensions, Vec::len);
        if found == dimensions {
            return Ok(());
        }
        let text = format!("expected {dimensions} dimensions, got {found}");
        Err(PyValueError::new_err(text))
    }

    fn checked(&self, queries: &[PyRef<'_, Query>]) -> PyResult<Vec<CoreQuery>> {
        let one = |query: &PyRef<'_, Query>| {
            self.check(query.0.vector.as_ref())?;
            Ok(query.0.clone())
        };
        queries.iter().map(one).collect()
    }

    /// Works on the state that stands at this seq; SnapshotMoved when it is another one.
    fn on_snapshot<T: Send>(
        &self,
        py: Python<'_>,
        seq: u64,
        work: impl FnOnce(&Snapshot) -> T + Send,
    ) -> PyResult<T> {
        run(py, || Ok(work(self.0.snapshot_at(seq)?.as_ref())))
    }
}

/// Everything that columns of a row are made by: the rules of words, and the axes of codes, for those
/// along others are left out of a row.
fn rules_version() -> String {
    use vestig_core::embed::piece_axes::{AXES_SHA256, MEAN_SHA256};
    let [mean, axes] =
        [MEAN_SHA256, AXES_SHA256].map(|hash| u16::from_be_bytes([hash[0], hash[1]]));
    format!("{}/axes-{mean:04x}-{axes:04x}", words::analyser_version())
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
            analyser: rules_version(),
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

    #[pyo3(signature = (rows, upto_seq, chain_head, removed=Vec::new(), revisions=Vec::new()))]
    fn apply(
        &self,
        py: Python<'_>,
        rows: Vec<Bound<'_, PyAny>>,
        upto_seq: u64,
        chain_head: &[u8],
        removed: Vec<(Bound<'_, PyBytes>, u64)>,
        revisions: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let head = <[u8; 32]>::try_from(chain_head)
            .map_err(|_| PyValueError::new_err("expected a chain head of 32 bytes"))?;
        let rows = new_rows(&rows)?;
        let removed = removed
            .iter()
            .map(|(id, seq)| Ok((id_of(id.as_bytes())?, *seq)))
            .collect::<PyResult<Vec<_>>>()?;
        let revisions = revisions
            .iter()
            .map(revision)
            .collect::<PyResult<Vec<_>>>()?;
        run(py, || {
            self.0
                .apply_all(&rows, &revisions, &removed, upto_seq, head)
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
        let goal = MergeGoal {
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
        let ids = self.on_snapshot(py, seq, |snapshot| eligible_ids(snapshot, &filter.0))?;
        Ok(PyBytes::new(py, ids.as_flattened()))
    }

    fn eligible_count(&self, py: Python<'_>, seq: u64, filter: &Filter) -> PyResult<usize> {
        self.on_snapshot(py, seq, |snapshot| eligible_count(snapshot, &filter.0))
    }

    fn verify(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.verify())
    }

    fn row<'py>(&self, py: Python<'py>, id: &[u8]) -> PyResult<Option<Bound<'py, PyDict>>> {
        let snapshot = self.0.snapshot();
        let Some((segment, number)) = snapshot.find(&id_of(id)?) else {
            return Ok(None);
        };
        columns(py, segment, number, self.dimensions()).map(Some)
    }

    fn ids<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let ids = py.detach(|| self.0.snapshot().ids(false));
        PyBytes::new(py, ids.as_flattened())
    }

    fn entity_ids<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let ids = py.detach(|| self.0.snapshot().ids(true));
        PyBytes::new(py, ids.as_flattened())
    }

    fn find_names<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        namespace: &str,
        texts: Vec<PyRef<'py, AnalysedText>>,
        known_at_us: i64,
    ) -> PyResult<Vec<Vec<NameHit<'py>>>> {
        let texts: Vec<_> = texts.iter().map(|text| Arc::clone(&text.inner)).collect();
        let words: Vec<_> = texts.iter().map(|text| text.words.as_slice()).collect();
        let found = self.on_snapshot(py, seq, |snapshot| {
            entity_names::find_names(snapshot, namespace, &words, known_at_us)
        })?;
        let wrap =
            |f: entity_names::NameMatch| (f.first, f.count, PyBytes::new(py, &f.entity), f.name);
        let of_text = |hits: Vec<_>| hits.into_iter().map(wrap).collect();
        Ok(found.into_iter().map(of_text).collect())
    }

    fn query_names(
        &self,
        py: Python<'_>,
        seq: u64,
        namespace: &str,
        text: &AnalysedText,
        known_at_us: i64,
        rows: &EntityRows,
    ) -> PyResult<QueryNameValues> {
        let named = self.on_snapshot(py, seq, |snapshot| {
            let words = [text.inner.words.as_slice()];
            let mut matches = entity_names::find_names(snapshot, namespace, &words, known_at_us);
            let known = rows.known(&matches.pop().unwrap_or_default(), known_at_us)?;
            let is_common =
                |word: &str| entity_names::lowercase(snapshot, namespace, &[word.to_owned()])[0];
            let found = text.inner.named_in_query(&text.rules, &known, &is_common);
            let entity = |one: &Entity| (one.id.clone(), one.kind.clone(), one.name.clone());
            let entities = found.entities.into_iter().map(entity).collect();
            let unknown = found.unknown.into_iter().map(|one| (one.name, one.kind));
            Ok((entities, unknown.collect()))
        })?;
        Ok(match named {
            Ok((entities, unknown)) => (Vec::new(), entities, unknown),
            Err(missing) => (missing, Vec::new(), Vec::new()),
        })
    }

    #[pyo3(signature = (seq, namespace, norm, known_at_us=None))]
    fn entities_with_name<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        namespace: &str,
        norm: &str,
        known_at_us: Option<i64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let found = self.on_snapshot(py, seq, |snapshot| {
            entity_names::with_name(snapshot, namespace, norm, known_at_us)
        })?;
        Ok(PyBytes::new(py, &found.concat()))
    }

    fn lowercase(
        &self,
        py: Python<'_>,
        seq: u64,
        namespace: &str,
        words: Vec<String>,
    ) -> PyResult<Vec<bool>> {
        self.on_snapshot(py, seq, |snapshot| {
            entity_names::lowercase(snapshot, namespace, &words)
        })
    }

    #[pyo3(signature = (seq, query, filter, ranking, *, limit, pool=None, watch=b"".as_slice(),
        shown=None, threads=1))]
    #[allow(clippy::too_many_arguments)]
    fn recall(
        &self,
        py: Python<'_>,
        seq: u64,
        query: &Query,
        filter: &Filter,
        ranking: &Ranking,
        limit: usize,
        pool: Option<&Bound<'_, PyAny>>,
        watch: &[u8],
        shown: Option<usize>,
        threads: usize,
    ) -> PyResult<Scan> {
        self.check(query.0.vector.as_ref())?;
        let selection = Selection {
            limit,
            shown: shown.unwrap_or(limit),
            pool: pool.map_or(Ok(Pool::All), pool_of)?,
            watch: ids_of(watch)?,
        };
        let effort = Effort::threads(threads);
        let scan = self.on_snapshot(py, seq, |snapshot| {
            recall(
                snapshot, &query.0, &filter.0, &ranking.0, &selection, effort,
            )
        });
        scan_of(py, &ranking.0, scan?)
    }

    #[pyo3(signature = (seq, queries, filter, ranking, *, limit, pool=None, shown=None,
        threads=1))]
    #[allow(clippy::too_many_arguments)]
    fn recall_many(
        &self,
        py: Python<'_>,
        seq: u64,
        queries: Vec<PyRef<'_, Query>>,
        filter: &Filter,
        ranking: &Ranking,
        limit: usize,
        pool: Option<&Bound<'_, PyAny>>,
        shown: Option<usize>,
        threads: usize,
    ) -> PyResult<Vec<Scan>> {
        let queries = self.checked(&queries)?;
        let selection = Selection {
            limit,
            shown: shown.unwrap_or(limit),
            pool: pool.map_or(Ok(Pool::All), pool_of)?,
            watch: Vec::new(),
        };
        let effort = Effort::threads(threads);
        let scans = self.on_snapshot(py, seq, |snapshot| {
            recall_many(
                snapshot, &queries, &filter.0, &ranking.0, &selection, effort,
            )
        })?;
        scans
            .into_iter()
            .map(|scan| scan_of(py, &ranking.0, scan))
            .collect()
    }

    fn idfs(
        &self,
        py: Python<'_>,
        seq: u64,
        text: &str,
        filter: &Filter,
    ) -> PyResult<BTreeMap<String, f64>> {
        let mut terms = words::terms(text, None);
        terms.sort_unstable();
        terms.dedup();
        let found = self.on_snapshot(py, seq, |snapshot| idfs(snapshot, &terms, &filter.0))?;
        Ok(terms.into_iter().zip(found).collect())
    }

    #[allow(clippy::type_complexity)]
    fn asked<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        query: &Query,
        filter: &Filter,
        sittings: bool,
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)>> {
        let found = self.on_snapshot(py, seq, |snapshot| {
            asked(snapshot, &query.0, &filter.0, sittings)
        })?;
        let bytes = |id: Id| PyBytes::new(py, &id);
        let found = found.into_iter();
        Ok(found
            .map(|one| (bytes(one.id), one.answer.map(bytes)))
            .collect())
    }

    #[allow(clippy::too_many_arguments)]
    fn versions(
        &self,
        py: Python<'_>,
        seq: u64,
        filter: &Filter,
        rows: Vec<FoundRow>,
        content: Vec<String>,
        of_present: bool,
        announced: bool,
        at_us: i64,
        read: Vec<(usize, usize, f64)>,
        weights: Signals,
        least: f64,
    ) -> PyResult<Vec<Vec<usize>>> {
        let rows = found(rows)?;
        let question = Question {
            content: &content,
            of_present,
            announced,
            at: at_us,
        };
        let read = read_pairs(read);
        let weights = Weights { weights, least };
        self.on_snapshot(py, seq, |snapshot| {
            versions(snapshot, &filter.0, &rows, &question, &read, &weights)
        })
    }

    fn version_signals(
        &self,
        py: Python<'_>,
        seq: u64,
        filter: &Filter,
        rows: Vec<FoundRow>,
        read: Vec<(usize, usize, f64)>,
        at_us: i64,
    ) -> PyResult<Vec<(usize, usize, Signals)>> {
        let (rows, read) = (found(rows)?, read_pairs(read));
        self.on_snapshot(py, seq, |snapshot| {
            version_signals(snapshot, &filter.0, &rows, &read, at_us)
        })
    }

    fn version_pairs(
        &self,
        py: Python<'_>,
        seq: u64,
        rows: Vec<FoundRow>,
        at_us: i64,
    ) -> PyResult<Vec<(usize, usize)>> {
        let rows = found(rows)?;
        self.on_snapshot(py, seq, |snapshot| version_pairs(snapshot, &rows, at_us))
    }

    fn versions_of(
        &self,
        py: Python<'_>,
        seq: u64,
        filter: &Filter,
        id: Vec<u8>,
        others: Vec<Vec<u8>>,
        at_us: i64,
    ) -> PyResult<Vec<usize>> {
        let id = id_of(&id)?;
        let others = others
            .iter()
            .map(|one| id_of(one))
            .collect::<PyResult<Vec<Id>>>()?;
        self.on_snapshot(py, seq, |snapshot| {
            versions_of(snapshot, &filter.0, &id, &others, at_us)
        })
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
        limit: usize,
    ) -> PyResult<Vec<NodeValue<'py, f64>>> {
        let vector = floats("vector", vector)?;
        self.check(Some(&vector))?;
        let kinds = (memories, entities);
        let found = self.on_snapshot(py, seq, |snapshot| {
            search::search(snapshot, &vector, &filter.0, kinds, limit)
        })?;
        Ok(node_values(py, found))
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
    ) -> PyResult<(Vec<NodeValue<'py, usize>>, Vec<Bound<'py, PyBytes>>)> {
        let query = search::NeighbourhoodQuery {
            seeds: ids_of(seeds)?,
            depth,
            memories,
            entities,
            max_degree,
            others,
        };
        let (nodes_by_depth, hubs) = self.on_snapshot(py, seq, |snapshot| {
            search::neighbourhood(snapshot, &filter.0, &query)
        })?;
        let hubs = hubs.iter().map(|id| PyBytes::new(py, id));
        Ok((node_values(py, nodes_by_depth), hubs.collect()))
    }

    fn entity_similar<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        namespace: &str,
        vectors: &Bound<'_, PyAny>,
        types: Vec<String>,
        threshold: f64,
    ) -> PyResult<Vec<Option<Neighbour<'py>>>> {
        let vectors = floats("vectors", vectors)?;
        if vectors.len() != types.len() * self.dimensions() {
            return Err(PyValueError::new_err("expected one vector per type"));
        }
        let vectors = vectors.chunks_exact(self.dimensions());
        let asked: Vec<_> = vectors.map(<[f32]>::to_vec).zip(types).collect();
        let found = self.on_snapshot(py, seq, |snapshot| {
            search::entity_similar(snapshot, namespace, &asked, threshold)
        })?;
        let wrap = |best: Option<_>| best.map(neighbour(py));
        Ok(found.into_iter().map(wrap).collect())
    }

    #[pyo3(signature = (seq, vectors, namespace, scopes, authors, exclude, near, related, known,
        threads=1, unrelated=None, earlier=None))]
    #[allow(clippy::too_many_arguments)]
    fn similar<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        vectors: &Bound<'_, PyAny>,
        namespace: &str,
        scopes: Vec<Option<String>>,
        authors: Vec<Option<String>>,
        exclude: Vec<Bound<'_, PyBytes>>,
        near: (f64, usize),
        related: (f64, usize),
        known: (f64, usize),
        threads: usize,
        unrelated: Option<Vec<Bound<'_, PyBytes>>>,
        earlier: Option<(Vec<u32>, f64)>,
    ) -> PyResult<Vec<SimilarValues<'py>>> {
        let vectors = floats("vectors", vectors)?;
        let none = || vec![PyBytes::new(py, b""); exclude.len()];
        let unrelated = unrelated.unwrap_or_else(none);
        let dimensions = self.dimensions();
        let probes = probes_of(&vectors, dimensions, scopes, authors, exclude, unrelated)?;
        if earlier
            .as_ref()
            .is_some_and(|(texts, _)| texts.len() != probes.len())
        {
            let text = "expected the number of one text per query in `earlier`";
            return Err(PyValueError::new_err(text));
        }
        let limits = |(threshold, top)| Limits { threshold, top };
        let wanted = Wanted {
            near: limits(near),
            related: limits(related),
            known: limits(known),
        };
        let found = self.on_snapshot(py, seq, |snapshot| {
            let earlier = earlier.as_ref().map(|(texts, threshold)| Earlier {
                texts,
                threshold: *threshold,
            });
            similar(snapshot, namespace, &probes, wanted, earlier, threads)
        })?;
        Ok(found.into_iter().map(similar_values(py)).collect())
    }

    #[pyo3(signature = (seq, namespace, first, count, threshold, limit, threads=1, texts=Vec::new()))]
    #[allow(clippy::too_many_arguments)]
    fn related<'py>(
        &self,
        py: Python<'py>,
        seq: u64,
        namespace: &str,
        first: usize,
        count: usize,
        threshold: f64,
        limit: usize,
        threads: usize,
        texts: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, Vec<Neighbour<'py>>)>> {
        let mut numbers = Texts::new();
        for (text, ids) in (0_u32..).zip(texts) {
            numbers.extend(ids_of(ids.as_bytes())?.into_iter().map(|id| (id, text)));
        }
        let asked = first..first.saturating_add(count);
        let limits = Limits {
            threshold,
            top: limit,
        };
        let found = self.on_snapshot(py, seq, |snapshot| {
            related(snapshot, namespace, asked, limits, &numbers, threads)
        })?;
        let wrap = |(id, near): (Id, _)| (PyBytes::new(py, &id), neighbours(py, near));
        Ok(found.into_iter().map(wrap).collect())
    }
}

/// Adds these names to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add(
        "FORMAT_VERSION",
        vestig_core::segment::format::FORMAT_VERSION,
    )?;
    module.add("EVENT_TYPES", PyTuple::new(module.py(), EVENT_TYPES)?)?;
    module.add("VERSION_SIGNALS", PyTuple::new(module.py(), SIGNALS)?)?;
    module.add("ROW_FIELDS", PyTuple::new(module.py(), ROW_FIELDS)?)?;
    module.add_class::<Filter>()?;
    module.add_class::<Query>()?;
    module.add_class::<Row>()?;
    module.add_class::<Scan>()?;
    module.add_class::<Projection>()
}
