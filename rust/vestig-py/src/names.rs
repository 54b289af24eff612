//! Names in texts: rules, texts taken apart, tables of names.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use vestig_core::query::entity_names::NameMatch;
use vestig_core::segment::Id;
use vestig_core::words::names::{
    self, AnalysedText as CoreText, Context, Entity, Known, Mention, NameRules as CoreRules, Text,
};

/// (name, start, end, type, confidence, opens).
type NameValue = (String, usize, usize, &'static str, f64, bool);
/// (name, type, confidence, start, end, evidence, entity).
type MentionValue = (String, String, f64, isize, isize, String, Option<String>);
/// (first word, number of words, entity, stored name).
type Hit = (usize, usize, String, String);
/// The same from Python.
type GivenHit<'py> = (usize, usize, Bound<'py, PyString>, String);
/// (written, without punctuation in front, behind, on both sides), in lower case.
type WordForms = (String, String, String, String);

/// The rules for names.
#[pyclass(frozen, module = "vestig._core")]
struct NameRules(Arc<CoreRules>);

/// A text taken apart.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct AnalysedText {
    pub(crate) inner: Arc<CoreText>,
    pub(crate) rules: Arc<CoreRules>,
}

/// An entity as the ledger has it.
struct EntityRow {
    entity: Entity,
    expired_us: Option<i64>,
    merged_into: Option<Id>,
}

/// (id, its text, type, canonical name, seq, when it expired, id of what it was merged into).
type GivenEntity = (Id, String, String, String, u64, Option<i64>, Option<Id>);

/// Rows of entities of one namespace at one seq; None = the ledger has none.
#[pyclass(frozen, module = "vestig._core")]
pub(crate) struct EntityRows(Mutex<HashMap<Id, Option<EntityRow>>>);

impl EntityRows {
    fn locked(&self) -> MutexGuard<'_, HashMap<Id, Option<EntityRow>>> {
        // Each row is put there whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The matches whose entities are unexpired at K; `Err`: ids that nobody has asked the ledger
    /// for. The name that an entity had before it was merged is not yet that of the other one.
    pub(crate) fn known(
        &self,
        matches: &[NameMatch],
        known_at: i64,
    ) -> Result<Vec<Known>, Vec<Id>> {
        let rows = self.locked();
        let mut missing: Vec<Id> = Vec::new();
        for id in matches.iter().map(|one| one.entity) {
            if !rows.contains_key(&id) && !missing.contains(&id) {
                missing.push(id);
            }
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        let known: Vec<(&NameMatch, &EntityRow)> = matches
            .iter()
            .filter_map(|one| Some((one, rows[&one.entity].as_ref()?)))
            .filter(|(_, row)| row.expired_us.is_none_or(|at| at > known_at))
            .collect();
        let later: HashSet<(usize, usize, Id)> = known
            .iter()
            .filter_map(|(one, row)| Some((one.first, one.count, row.merged_into?)))
            .collect();
        let is_later = |one: &NameMatch| later.contains(&(one.first, one.count, one.entity));
        let before_merges = known.iter().filter(|(one, _)| !is_later(one));
        Ok(before_merges
            .map(|(one, row)| Known {
                first: one.first,
                count: one.count,
                stored: one.name.clone(),
                entity: row.entity.clone(),
            })
            .collect())
    }
}

#[pymethods]
impl EntityRows {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    fn add(&self, asked: Vec<Id>, rows: Vec<GivenEntity>) {
        let mut known = self.locked();
        known.extend(asked.into_iter().map(|id| (id, None)));
        for (id, text, kind, name, seq, expired_us, merged_into) in rows {
            let entity = Entity {
                id: text,
                kind,
                order: (seq, name.clone()),
                name,
            };
            let row = EntityRow {
                entity,
                expired_us,
                merged_into,
            };
            known.insert(id, Some(row));
        }
    }

    fn __len__(&self) -> usize {
        self.locked().len()
    }
}

#[pymethods]
impl NameRules {
    #[new]
    fn new(stop_words: HashSet<String>) -> Self {
        Self(Arc::new(CoreRules::new(stop_words)))
    }

    fn find(&self, py: Python<'_>, text: &str) -> Vec<NameValue> {
        py.detach(|| values(self.0.find(text)))
    }

    fn title_name(&self, title: &str) -> Option<String> {
        self.0.title_name(title)
    }

    #[pyo3(signature = (texts, *, rules = true, types = None))]
    fn analyse(
        &self,
        py: Python<'_>,
        texts: Vec<(String, Option<String>)>,
        rules: bool,
        types: Option<HashMap<String, String>>,
    ) -> Vec<AnalysedText> {
        let one = |(text, title): &(String, Option<String>)| {
            let mut found = self.0.analyse(text, title.as_deref(), rules);
            found.types.clone_from(&types);
            AnalysedText {
                inner: Arc::new(found),
                rules: Arc::clone(&self.0),
            }
        };
        py.detach(|| texts.iter().map(one).collect())
    }
}

#[pymethods]
impl AnalysedText {
    #[getter]
    fn title(&self) -> Option<&str> {
        self.inner.title.as_deref()
    }

    #[getter]
    fn openers(&self) -> Vec<&str> {
        self.inner.openers.iter().map(String::as_str).collect()
    }

    #[getter]
    fn words(&self) -> Vec<WordForms> {
        let forms = self.inner.words.iter().map(|word| {
            (
                word.raw.to_string(),
                word.left.to_string(),
                word.right.to_string(),
                word.bare.to_string(),
            )
        });
        forms.collect()
    }

    #[getter]
    fn names(&self) -> Vec<NameValue> {
        values(self.inner.names.clone())
    }

    fn __len__(&self) -> usize {
        self.inner.words.len()
    }

    #[pyo3(signature = (hits, known, common, *, query = false, rules_only = false))]
    fn resolve(
        &self,
        hits: Vec<GivenHit<'_>>,
        known: &Bound<'_, PyAny>,
        common: &Bound<'_, PyAny>,
        query: bool,
        rules_only: bool,
    ) -> PyResult<Vec<MentionValue>> {
        let hits = known_hits(hits, known)?;
        let failed = RefCell::new(None);
        let is_common = |word: &str| match common.contains(word) {
            Ok(held) => held,
            Err(error) => {
                failed.replace(Some(error));
                false
            }
        };
        let context = Context {
            is_common: &is_common,
            query,
            rules_only,
        };
        let found = self.inner.resolve(&self.rules, &hits, &context);
        match failed.take() {
            Some(error) => Err(error),
            None => Ok(found.into_iter().map(mention_value).collect()),
        }
    }

    fn named_by_whole(
        &self,
        hits: Vec<GivenHit<'_>>,
        known: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<String>> {
        let hits = known_hits(hits, known)?;
        let found = self.inner.named_by_whole(&hits).into_iter();
        Ok(found.map(|entity| entity.id.clone()).collect())
    }
}

fn values(names: Vec<names::Name>) -> Vec<NameValue> {
    let value = |one: names::Name| {
        let kind = one.kind.name();
        (
            one.name,
            one.start,
            one.end,
            kind,
            one.confidence,
            one.opens,
        )
    };
    names.into_iter().map(value).collect()
}

fn mention_value(one: Mention) -> MentionValue {
    let place = |at: usize| isize::try_from(at).unwrap_or(isize::MAX);
    let (start, end) = one
        .span
        .map_or((-1, -1), |(start, end)| (place(start), place(end)));
    (
        one.name,
        one.kind,
        one.confidence,
        start,
        end,
        one.evidence,
        one.entity,
    )
}

/// The hits whose entities are known.
fn known_hits(hits: Vec<GivenHit<'_>>, known: &Bound<'_, PyAny>) -> PyResult<Vec<Known>> {
    let mut found = Vec::with_capacity(hits.len());
    let plain = known.cast::<PyDict>().ok();
    for (first, count, id, stored) in hits {
        let entity = match plain {
            Some(known) => known.get_item(id)?,
            None => Some(known.call_method1("get", (id,))?).filter(|found| !found.is_none()),
        };
        if let Some(entity) = entity {
            found.push(Known {
                first,
                count,
                stored,
                entity: entity_of(&entity)?,
            });
        }
    }
    Ok(found)
}

fn entity_of(entity: &Bound<'_, PyAny>) -> PyResult<Entity> {
    let py = entity.py();
    Ok(Entity {
        id: entity.getattr(intern!(py, "id"))?.extract()?,
        kind: entity.getattr(intern!(py, "type"))?.extract()?,
        name: entity.getattr(intern!(py, "name"))?.extract()?,
        order: entity.getattr(intern!(py, "order"))?.extract()?,
    })
}

/// A small index of names by their words.
#[pyclass(frozen, module = "vestig._core")]
struct NameTable(Mutex<names::NameTable>);

impl NameTable {
    fn locked(&self) -> MutexGuard<'_, names::NameTable> {
        // A table is whole after every statement that changes it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl NameTable {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    #[pyo3(signature = (id, *stored))]
    fn add(&self, id: &str, stored: Vec<String>) {
        let mut table = self.locked();
        for name in &stored {
            table.add(id, name);
        }
    }

    fn find(&self, text: &AnalysedText) -> Vec<Hit> {
        self.locked().find(&text.inner.words)
    }

    fn __bool__(&self) -> bool {
        !self.locked().is_empty()
    }
}

#[pyfunction]
fn entity_named(
    entities: Vec<Bound<'_, PyAny>>,
    name: &str,
    r#type: &str,
) -> PyResult<Option<String>> {
    let entities: Vec<Entity> = entities.iter().map(entity_of).collect::<PyResult<_>>()?;
    let found = names::entity_named(entities.iter(), name, r#type);
    Ok(found.map(|entity| entity.id.clone()))
}

#[pyfunction]
fn cased_name(name: &str) -> String {
    names::cased(name)
}

#[pyfunction]
fn normal_name(name: &str) -> String {
    names::normal(name)
}

#[pyfunction]
fn is_specific(name: &str) -> bool {
    names::is_specific(name)
}

#[pyfunction]
fn quotations(text: &str) -> Vec<(usize, usize)> {
    let found = names::quotations(&Text::new(text)).into_iter();
    found.map(|name| (name.start, name.end)).collect()
}

#[pyfunction]
fn starts_sentence(text: &str, start: usize) -> bool {
    names::starts_sentence(&Text::new(text), start)
}

/// Adds the classes and functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NameRules>()?;
    module.add_class::<AnalysedText>()?;
    module.add_class::<EntityRows>()?;
    module.add_class::<NameTable>()?;
    module.add_function(wrap_pyfunction!(entity_named, module)?)?;
    module.add_function(wrap_pyfunction!(cased_name, module)?)?;
    module.add_function(wrap_pyfunction!(normal_name, module)?)?;
    module.add_function(wrap_pyfunction!(is_specific, module)?)?;
    module.add_function(wrap_pyfunction!(quotations, module)?)?;
    module.add_function(wrap_pyfunction!(starts_sentence, module)?)
}
