//! Rows from the ledger, checked and analysed, on their way into the tail.

use std::collections::HashMap;

use crate::error::{CoreError, Result};
use crate::kernels::dot::unit;
use crate::kernels::lexical::OCCURRENCES_MAX;
use crate::kernels::piece_codes::{OwnedPieces, Pieces};
use crate::segment::format::Identity;
use crate::segment::row::{Forward, LOWER_CASE, RowVersion, Vector, WORDS_MAX, row_version};
use crate::segment::{
    Attributes, EDGE_KINDS, EdgeVersion, EventRow, FEATURES_END, Id, KIND_ENTITY, NO_TIME,
    OPEN_START,
};
use crate::snapshot::Snapshot;
use crate::words;

/// Position of chat_agent in OriginType.
const CHAT_AGENT: u8 = 1;

/// One memory as the ledger gives it (`ports.ProjectionRow`).
#[derive(Debug, Clone, Default)]
pub struct NewRow {
    /// 16 bytes.
    pub id: Id,
    /// Inserting transaction.
    pub seq: i64,
    /// Transaction of this version.
    pub wseq: i64,
    /// Analysed here, not kept.
    pub content: String,
    /// Who said it.
    pub author: Option<String>,
    /// Exactly one.
    pub namespace: String,
    /// None = without scope.
    pub scope: Option<String>,
    /// Code of Kind.
    pub kind: u8,
    /// Code of Status.
    pub status: u8,
    /// `user` or `assistant` of a chat; of an entity: its type.
    pub role: Option<String>,
    /// Session id; unique within namespace and scope.
    pub session: Option<String>,
    /// Position in the session; the parts of a long text share it.
    pub sequence: Option<i64>,
    /// Row number in the ledger of the source that produced it first.
    pub source_row: Option<i64>,
    /// Code of OriginType.
    pub origin: u8,
    /// Code of Stability.
    pub stability: u8,
    /// Never removed by retention.
    pub pinned: bool,
    /// Its time is only that of its file.
    pub undated: bool,
    /// From when the fact holds, µs since the epoch.
    pub t_valid: i64,
    /// Until when the fact holds, µs; None = no known end.
    pub t_invalid: Option<i64>,
    /// When the store learned it, µs.
    pub t_created: i64,
    /// When the store gave it up, µs; None = current.
    pub t_expired: Option<i64>,
    /// As the embedder gave it.
    pub embedding: Option<Vec<f32>>,
    /// Tags, sources, actors, keywords.
    pub lists: [Vec<String>; 4],
    /// Of the memory.
    pub events: Vec<EventRow>,
    /// Temporal windows, µs; None = open.
    pub windows: Vec<(Option<i64>, Option<i64>)>,
    /// That start here.
    pub edges: Vec<EdgeVersion>,
    /// Vectors of hypothetical questions as the embedder gave them.
    pub questions: Vec<Vec<f32>>,
    /// Of an entity: (normal form, stored name), canonical first.
    pub names: Vec<(String, String)>,
    /// Features of the text, below 2^16.
    pub features: u32,
    /// The name that the title is.
    pub title: Option<String>,
    /// The title as it is given: its words are words of the memory.
    pub heading: Option<String>,
    /// Codes of word pieces.
    pub pieces: Option<OwnedPieces>,
}

/// A row with its words counted and its vector normalised.
pub struct Analysed<'a> {
    row: &'a NewRow,
    unit: Option<Vec<f32>>,
    questions: Vec<Vec<f32>>,
    /// By term, its place in `counts`.
    terms: HashMap<String, u32>,
    counts: Vec<u8>,
    text_terms: Vec<u32>,
    length: u32,
}

impl<'a> Analysed<'a> {
    /// Checks a row against the store and counts its words.
    pub fn new(row: &'a NewRow, identity: &Identity, stems: &mut words::Stems) -> Result<Self> {
        check(row, identity)?;
        let in_lanes = |given: &Vec<f32>| {
            let mut out = vec![0.0; identity.lanes()];
            unit(given, &mut out);
            out
        };
        let unit_vector = row.embedding.as_ref().map(in_lanes);
        let mut terms: HashMap<String, u32> = HashMap::new();
        let (mut counts, mut text_terms, mut length) = (Vec::new(), Vec::new(), 0);
        let mut count = |term: &str, word: words::Spelling| {
            if length == WORDS_MAX {
                return;
            }
            length += 1;
            let place = terms.get(term).copied().unwrap_or_else(|| {
                let place = counts.len() as u32;
                counts.push(0);
                terms.insert(term.to_owned(), place);
                place
            });
            let case = if word.lower_case { LOWER_CASE } else { 0 };
            let count = &mut counts[place as usize];
            let more = u8::from(*count & OCCURRENCES_MAX < OCCURRENCES_MAX);
            *count = (*count + more) | case;
            if !word.function_word {
                text_terms.push(place);
            }
        };
        for before in [&row.author, &row.heading].into_iter().flatten() {
            words::visit_terms("", Some(before), None, stems, &mut count);
        }
        let until = (row.origin == CHAT_AGENT).then_some(words::AGENT_WORDS_END);
        words::visit_terms(&row.content, None, until, stems, &mut count);
        Ok(Self {
            row,
            unit: unit_vector,
            questions: row.questions.iter().map(in_lanes).collect(),
            terms,
            counts,
            text_terms,
            length,
        })
    }

    /// As the builder takes it.
    #[must_use]
    pub fn version(&self) -> RowVersion<'_> {
        let row = self.row;
        let mut terms = vec![("", 0); self.counts.len()];
        for (term, place) in &self.terms {
            terms[*place as usize] = (term, self.counts[*place as usize]);
        }
        RowVersion {
            id: row.id,
            seq: row.seq,
            wseq: row.wseq,
            attributes: Attributes {
                kind: row.kind,
                status: row.status,
                origin: row.origin,
                stability: row.stability,
                pinned: row.pinned,
                embedded: self.unit.is_some(),
                undated: row.undated,
            },
            namespace: &row.namespace,
            scope: row.scope.as_deref(),
            author: row.author.as_deref(),
            role: row.role.as_deref(),
            session: row.session.as_deref(),
            sequence: row.sequence,
            source_row: row.source_row,
            times: [
                row.t_valid,
                row.t_invalid.unwrap_or(NO_TIME),
                row.t_created,
                row.t_expired.unwrap_or(NO_TIME),
            ],
            vector: self.unit.as_deref().map_or(Vector::None, Vector::Unit),
            lists: std::array::from_fn(|i| row.lists[i].iter().map(String::as_str).collect()),
            windows: row
                .windows
                .iter()
                .map(|(start, end)| (start.unwrap_or(OPEN_START), end.unwrap_or(NO_TIME)))
                .collect(),
            questions: self.questions.iter().map(Vec::as_slice).collect(),
            edges: row.edges.clone(),
            names: row
                .names
                .iter()
                .map(|(norm, name)| (norm.as_str(), name.as_str()))
                .collect(),
            events: row.events.clone(),
            terms,
            length: self.length,
            text_terms: self.text_terms.clone(),
            features: row.features,
            title: row.title.as_deref(),
            pieces: row
                .pieces
                .as_ref()
                .map_or_else(Pieces::default, OwnedPieces::view),
        }
    }
}

/// The end of a memory: what is other in its newest version.
#[derive(Debug, Clone)]
pub struct Revision {
    /// Id of the memory.
    pub id: Id,
    /// The transaction that revises it.
    pub wseq: i64,
    /// Position in Status.
    pub status: u8,
    /// None = null.
    pub t_invalid: Option<i64>,
    /// None = null.
    pub t_expired: Option<i64>,
    /// Events behind those that it has.
    pub events: Vec<EventRow>,
}

impl Revision {
    /// The version that counts in a snapshot, revised; `Moved` where none does.
    pub fn version<'a>(&self, snapshot: &'a Snapshot) -> Result<RowVersion<'a>> {
        let (segment, row) = snapshot.find(&self.id).ok_or(CoreError::Moved)?;
        let mut version = row_version(segment, &Forward::of_row(segment, row), row);
        if self.status >= 4 || self.wseq < version.wseq {
            let (status, wseq) = (self.status, self.wseq);
            return Err(CoreError::Invalid(format!(
                "expected a status code below 4 and a wseq of at least {}, got {status} and {wseq}",
                version.wseq
            )));
        }
        version.wseq = self.wseq;
        version.attributes.status = self.status;
        let [_, invalid, _, expired] = &mut version.times;
        *invalid = self.t_invalid.unwrap_or(NO_TIME);
        *expired = self.t_expired.unwrap_or(NO_TIME);
        version.events.extend_from_slice(&self.events);
        Ok(version)
    }
}

fn check(row: &NewRow, identity: &Identity) -> Result<()> {
    let codes = [
        ("kind", row.kind, KIND_ENTITY + 1),
        ("status", row.status, 4),
        ("origin", row.origin, 4),
        ("stability", row.stability, 4),
    ];
    for (name, code, limit) in codes {
        if code >= limit {
            return Err(CoreError::Invalid(format!(
                "expected a {name} code below {limit}, got {code}"
            )));
        }
    }
    if row.seq < 0 || row.wseq < row.seq {
        let (seq, wseq) = (row.seq, row.wseq);
        return Err(CoreError::Invalid(format!(
            "expected 0 <= seq <= wseq, got {seq} and {wseq}"
        )));
    }
    if row.features >= FEATURES_END {
        let features = row.features;
        return Err(CoreError::Invalid(format!(
            "expected features below {FEATURES_END}, got {features}"
        )));
    }
    for edge in &row.edges {
        let number = |value: f64| value.is_finite() && value >= 0.0;
        let confidence = edge.confidence.is_none_or(number);
        if !EDGE_KINDS.contains(&edge.kind) || !number(edge.weight) || !confidence {
            return Err(CoreError::Invalid(
                "expected edges of walked types with finite weights of at least 0".into(),
            ));
        }
    }
    for vector in row.embedding.iter().chain(&row.questions) {
        let dimensions = identity.dimensions as usize;
        if vector.len() != dimensions {
            let found = vector.len();
            return Err(CoreError::Invalid(format!(
                "expected {dimensions} dimensions, got {found}"
            )));
        }
        if vector.iter().any(|x| !x.is_finite()) {
            return Err(CoreError::Invalid(
                "expected a finite embedding, got NaN or infinity".into(),
            ));
        }
    }
    Ok(())
}
