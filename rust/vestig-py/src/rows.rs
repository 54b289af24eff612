//! Rows from the ledger to the core, and back.

use std::collections::HashMap;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use vestig_core::kernels::piece_codes::OwnedPieces;
use vestig_core::segment::row::{Forward, LOWER_CASE, nullable, row_version};
use vestig_core::segment::{EdgeVersion, EventRow, NO_TIME, OPEN_START, Segment};
use vestig_core::snapshot::tail::{NewRow, Revision};

use crate::errors::to_python;
use crate::ids::id_of;
use crate::numbers::{floats, to_bytes};

/// Fields of a row, in this order, by the names that the named tuple gives them.
pub(crate) const ROW_FIELDS: [&str; 35] = [
    "id",
    "seq",
    "wseq",
    "content",
    "author",
    "namespace",
    "scope",
    "kind",
    "status",
    "role",
    "session_id",
    "sequence",
    "origin",
    "stability",
    "pinned",
    "t_valid_us",
    "t_invalid_us",
    "t_created_us",
    "t_expired_us",
    "embedding",
    "tags",
    "sources",
    "actors",
    "events",
    "keywords",
    "windows",
    "edges",
    "questions",
    "names",
    "features",
    "title",
    "pieces",
    "source_row",
    "heading",
    "undated",
];

type Edge<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    u8,
    f64,
    Option<f64>,
    i64,
    Option<i64>,
);

/// Ids and codes of word pieces.
type PieceBytes<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// `ports.Pieces`; ValueError when they are none.
fn pieces((ids, codes): PieceBytes<'_>) -> PyResult<OwnedPieces> {
    OwnedPieces::from_bytes(ids.as_bytes(), codes.as_bytes()).map_err(to_python)
}

fn edge(given: Edge<'_>) -> PyResult<EdgeVersion> {
    let (id, end, kind, weight, confidence, created, expired) = given;
    Ok(EdgeVersion {
        id: id_of(id.as_bytes())?,
        end: id_of(end.as_bytes())?,
        kind,
        weight,
        confidence,
        created,
        expired: expired.unwrap_or(NO_TIME),
    })
}

/// Why a type of rows cannot be read: the first field that is not the expected one.
fn check_fields(rows: &Bound<'_, PyType>) -> PyResult<()> {
    let Ok(fields) = rows.getattr("_fields") else {
        let text = format!("expected rows as a named tuple, got {}", rows.name()?);
        return Err(PyTypeError::new_err(text));
    };
    let fields: Vec<String> = fields.extract()?;
    let places = 0..ROW_FIELDS.len().max(fields.len());
    for (place, (wanted, found)) in places.map(|at| (at, (ROW_FIELDS.get(at), fields.get(at)))) {
        if wanted.copied() != found.map(String::as_str) {
            let number = place + 1;
            let name = |field: Option<&str>| field.map_or("none".into(), |f| format!("`{f}`"));
            let (wanted, found) = (name(wanted.copied()), name(found.map(String::as_str)));
            let text = format!("expected field {number} of a row to be {wanted}, got {found}");
            return Err(PyValueError::new_err(text));
        }
    }
    Ok(())
}

/// Rows of the ledger. The fields of their type are compared by name, once for each type.
pub(crate) fn new_rows(rows: &[Bound<'_, PyAny>]) -> PyResult<Vec<NewRow>> {
    static CHECKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let (py, of) = (row.py(), row.get_type());
        if !CHECKED.get(py).is_some_and(|known| of.is(known)) {
            check_fields(&of)?;
            // Another type is compared at each row; there is but one.
            let _ = CHECKED.set(py, of.unbind());
        }
        found.push(new_row(row.cast::<PyTuple>()?)?);
    }
    Ok(found)
}

type Event = (u8, i64, i64, i64, i64);

fn event_row((kind, occurred, recorded, seq, row): Event) -> EventRow {
    EventRow {
        kind,
        occurred,
        recorded,
        seq,
        row,
    }
}

/// A revision from (id, wseq, status, t_invalid, t_expired, events).
pub(crate) fn revision(given: &Bound<'_, PyAny>) -> PyResult<Revision> {
    type Fields<'py> = (
        Bound<'py, PyBytes>,
        i64,
        u8,
        Option<i64>,
        Option<i64>,
        Vec<Event>,
    );
    let (id, wseq, status, t_invalid, t_expired, events): Fields<'_> = given.extract()?;
    Ok(Revision {
        id: id_of(id.as_bytes())?,
        wseq,
        status,
        t_invalid,
        t_expired,
        events: events.into_iter().map(event_row).collect(),
    })
}

/// A row whose fields are in order.
fn new_row(row: &Bound<'_, PyTuple>) -> PyResult<NewRow> {
    fn field<'py, T>(row: &Bound<'py, PyTuple>, i: usize) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        row.get_item(i)?.extract().map_err(Into::into)
    }
    let embedding = row.get_item(19)?;
    let events: Vec<Event> = field(row, 23)?;
    let edges: Vec<Edge<'_>> = field(row, 26)?;
    let questions: Vec<Bound<'_, PyAny>> = field(row, 27)?;
    Ok(NewRow {
        id: id_of(row.get_item(0)?.cast::<PyBytes>()?.as_bytes())?,
        seq: field(row, 1)?,
        wseq: field(row, 2)?,
        content: field(row, 3)?,
        author: field(row, 4)?,
        namespace: field(row, 5)?,
        scope: field(row, 6)?,
        kind: field(row, 7)?,
        status: field(row, 8)?,
        role: field(row, 9)?,
        session: field(row, 10)?,
        sequence: field(row, 11)?,
        origin: field(row, 12)?,
        stability: field(row, 13)?,
        pinned: field(row, 14)?,
        t_valid: field(row, 15)?,
        t_invalid: field(row, 16)?,
        t_created: field(row, 17)?,
        t_expired: field(row, 18)?,
        embedding: if embedding.is_none() {
            None
        } else {
            Some(floats("embedding", &embedding)?)
        },
        lists: [
            field(row, 20)?,
            field(row, 21)?,
            field(row, 22)?,
            field(row, 24)?,
        ],
        events: events.into_iter().map(event_row).collect(),
        windows: field(row, 25)?,
        edges: edges.into_iter().map(edge).collect::<PyResult<_>>()?,
        questions: questions
            .iter()
            .map(|vector| floats("question", vector))
            .collect::<PyResult<_>>()?,
        names: field(row, 28)?,
        features: field(row, 29)?,
        title: field(row, 30)?,
        pieces: field::<Option<PieceBytes<'_>>>(row, 31)?
            .map(pieces)
            .transpose()?,
        source_row: field(row, 32)?,
        heading: field(row, 33)?,
        undated: field(row, 34)?,
    })
}

/// All columns of a row, by name.
pub(crate) fn columns<'py>(
    py: Python<'py>,
    segment: &Segment,
    number: usize,
    dimensions: usize,
) -> PyResult<Bound<'py, PyDict>> {
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
    columns.set_item("source_row", row.source_row)?;
    columns.set_item("origin", row.attributes.origin)?;
    columns.set_item("stability", row.attributes.stability)?;
    columns.set_item("pinned", row.attributes.pinned)?;
    columns.set_item("undated", row.attributes.undated)?;
    let times = ["t_valid_us", "t_invalid_us", "t_created_us", "t_expired_us"];
    for (name, time) in times.into_iter().zip(row.times) {
        columns.set_item(name, nullable(time))?;
    }
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
    let text_terms = row
        .text_terms
        .iter()
        .map(|place| row.terms[*place as usize].0);
    columns.set_item("text_terms", text_terms.collect::<Vec<&str>>())?;
    let terms = row.terms.into_iter().map(count);
    columns.set_item("terms", terms.collect::<HashMap<&str, u8>>())?;
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
    let mut edges: Vec<_> = row.edges.iter().collect();
    edges.sort_unstable_by_key(|edge| edge.id);
    columns.set_item("edges", edges.into_iter().map(edge).collect::<Vec<_>>())?;
    let questions = row.questions.iter();
    let questions = questions.map(|unit| to_bytes(py, &unit[..dimensions]));
    columns.set_item("questions", questions.collect::<Vec<_>>())?;
    columns.set_item("names", row.names)?;
    columns.set_item("length", row.length)?;
    columns.set_item("features", row.features)?;
    columns.set_item("title", row.title)?;
    let pieces = (!row.pieces.ids.is_empty()).then(|| {
        let (ids, codes) = (row.pieces.id_bytes(), row.pieces.code_bytes());
        (PyBytes::new(py, &ids), PyBytes::new(py, &codes))
    });
    columns.set_item("pieces", pieces)?;
    Ok(columns)
}
