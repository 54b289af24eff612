//! The input of every byte parser: any bytes. Shared by the seeded test beside this file and by the
//! targets of `rust/fuzz`. A driver may refuse its input, and must never panic.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use vestig_core::embed::onnx::Initialisers;
use vestig_core::kernels::piece_codes::{CODE_BYTES, OwnedPieces, QueryPieces};
use vestig_core::kernels::rolling_hash;
use vestig_core::kernels::tracerank::TraceParams;
use vestig_core::query::entity_names::{find_names, lowercase};
use vestig_core::query::filter::Filter;
use vestig_core::query::graph::Graph;
use vestig_core::query::similar::{Limits, Probe, Wanted, similar};
use vestig_core::recall::{
    Base, BySignal, Effort, Pool, Query, QueryParts, Ranking, Selection, Traversal, Weights, recall,
};
use vestig_core::segment::format::{self, Damage, Identity, Manifest, SegmentEntry};
use vestig_core::segment::image;
use vestig_core::segment::map::{Held, Region};
use vestig_core::segment::row::{Forward, row_version};
use vestig_core::segment::{EdgeVersion, EventRow, KIND_ENTITY, NO_TIME, Segment};
use vestig_core::snapshot::projection::Projection;
use vestig_core::snapshot::tail::NewRow;
use vestig_core::snapshot::{Part, Snapshot};
use vestig_core::words;
use vestig_core::words::names::NameRules;

/// Whose files these are.
pub fn identity() -> Identity {
    Identity {
        store_uuid: [7; 16],
        dimensions: 4,
        model: "m".into(),
        analyser: words::analyser_version(),
    }
}

fn held(bytes: &[u8]) -> Held {
    let mut held = Held::zeroed(bytes.len());
    held.bytes_mut().copy_from_slice(bytes);
    held
}

fn bind(bytes: &[u8]) -> Result<Segment, Damage> {
    Segment::open(Region::Held(held(bytes)), &identity(), None)
}

/// The same bytes under right checksums, so that the checks behind them are reached.
pub fn resealed_segment(bytes: &[u8]) -> Vec<u8> {
    let mut held = held(bytes);
    let length = bytes.first_chunk::<16>().map_or(0, |head| {
        u32::from_le_bytes([head[12], head[13], head[14], head[15]])
    });
    let length = length as usize;
    if (68..=bytes.len()).contains(&length) {
        let crc = format::checksum(&held.bytes()[..length - 4]);
        held.bytes_mut()[length - 4..length].copy_from_slice(&crc.to_le_bytes());
    }
    // Refused where the header is no header.
    let _ = image::seal(&mut held);
    held.bytes().to_vec()
}

/// The same bytes with a right checksum at their end.
pub fn resealed_manifest(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = bytes.to_vec();
    if let Some(end) = bytes.len().checked_sub(4) {
        let crc = format::checksum(&bytes[..end]);
        sealed[end..].copy_from_slice(&crc.to_le_bytes());
    }
    sealed
}

/// A segment that is bound serves every read; its kernels check nothing any more. Says whether
/// it was bound.
pub fn segment(bytes: &[u8]) -> bool {
    let _ = format::parse_header(bytes);
    let _ = format::header_crc(bytes);
    let Ok(segment) = bind(bytes) else {
        return false;
    };
    let forward = Forward::of(&segment);
    for row in 0..segment.rows() {
        let version = row_version(&segment, &forward, row);
        assert_eq!(segment.find(&version.id), Some(row));
        let pieces = version.pieces;
        assert_eq!(pieces.signs.len(), pieces.ids.len());
        assert_eq!(pieces.scales.len(), pieces.ids.len());
        let title = segment.title(row).and_then(|number| segment.string(number));
        assert_eq!(version.title, title);
        let terms = version.terms.len();
        assert!(
            version
                .text_terms
                .iter()
                .all(|place| (*place as usize) < terms)
        );
    }
    let _ = segment.term_number("river");
    if let Some(norm) = segment.string_number("ada lovelace") {
        assert!(
            segment
                .named(norm)
                .all(|(row, _)| row >= segment.memory_rows())
        );
    }
    let mut snapshot = Snapshot::empty(Arc::new(identity()));
    snapshot.push(Part::whole(Arc::new(segment)));
    run_every_query(&snapshot);
    true
}

/// `segment` behind the checksums.
pub fn sealed_segment(bytes: &[u8]) -> bool {
    segment(&resealed_segment(bytes))
}

/// A manifest that is read says the same when it is written again.
pub fn manifest(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), resealed_manifest(bytes)] {
        if let Ok(manifest) = format::parse_manifest(&bytes) {
            assert_eq!(format::encode_manifest(&manifest), bytes);
            for entry in &manifest.segments {
                assert!(!entry.name.contains(['/', '\\', '\0']));
            }
        }
    }
    if let Ok(name) = std::str::from_utf8(bytes) {
        assert!(!format::segment_name_is_plain(name) || !name.contains('/'));
    }
}

/// Finding marks: the first bytes choose key, run and what was seen, the rest is searched.
pub fn find_marks(bytes: &[u8]) {
    let Some((head, data)) = bytes.split_first_chunk::<10>() else {
        return;
    };
    let key = u64::from_le_bytes([
        head[0], head[1], head[2], head[3], head[4], head[5], head[6], head[7],
    ]);
    let (length, seen) = (usize::from(head[8]), usize::from(head[9]));
    let run = &data[..length.min(data.len())];
    let wanted = HashSet::from([rolling_hash::mark(key, run), 0, u64::MAX]);
    let found = rolling_hash::find(key, data, seen, length, &wanted);
    let expected = length > 0 && data.len() >= length && length > seen;
    assert!(!expected || found.contains_key(&rolling_hash::mark(key, run)));
    for found in found.values() {
        assert!(found.offset + length <= data.len());
    }
}

/// Tokens and terms of any text; the offsets of tokens lie in order inside it.
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let length = text.chars().count();
    for token in words::tokens(&text) {
        assert!(token.start <= token.end && token.end <= length);
    }
    let _ = words::terms(&text, Some(&text));
    let rules = NameRules::new(HashSet::from(["the".to_owned()]));
    for name in rules.find(&text) {
        assert!(name.start < name.end && name.end <= length);
    }
    let analysed = rules.analyse(&text, Some(&text), true);
    for (start, end) in analysed.spans.iter().flatten() {
        assert!(start <= end && *end <= length);
    }
}

/// The initialisers of any bytes: those that are read have the length of their shape.
pub fn onnx(bytes: &[u8]) {
    let Ok(found) = Initialisers::read(bytes) else {
        return;
    };
    for shape in [&[][..], &[2], &[2, 3], &[usize::MAX, 2]] {
        if let Ok(codes) = found.int8("codes", shape) {
            assert_eq!(codes.len(), shape.iter().product::<usize>());
        }
        if let Ok(values) = found.float32("scale", shape) {
            assert!(values.len() <= bytes.len() / 4 && values.iter().all(|x| x.is_finite()));
        }
    }
}

/// A sound ONNX file: 2 × 3 codes and two scales.
pub fn onnx_file() -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
    let tensor = |axes: &[u8], kind: u8, name: &[u8], raw: &[u8]| {
        let axes = axes.iter().flat_map(|axis| [1 << 3, *axis]);
        let mut message: Vec<u8> = axes.chain([2 << 3, kind]).collect();
        message.extend([field(8, name), field(9, raw)].concat());
        field(5, &message)
    };
    let codes = tensor(&[2, 3], 3, b"codes", &[1, 2, 3, 0xff, 0xfe, 0xfd]);
    let scale = tensor(&[2], 1, b"scale", &[0, 0, 128, 63, 0, 0, 0, 64]);
    let graph = field(7, &[codes, scale].concat());
    [&[1 << 3, 10][..], &graph].concat()
}

/// A folder with one segment of these bytes, published by a manifest that names it.
pub fn folder(bytes: &[u8], at: &Path) {
    let name = format::segment_name(1, 1);
    let crc = format::header_crc(bytes).unwrap_or_default();
    let entry = SegmentEntry {
        name: name.clone(),
        bytes: bytes.len() as u64,
        crc,
    };
    let manifest = Manifest {
        generation: 1,
        upto_seq: 3,
        head: [3; 32],
        store_uuid: [7; 16],
        segments: vec![entry],
    };
    let manifest = format::encode_manifest(&manifest);
    let written = fs::write(at.join(name), bytes).is_ok();
    assert!(written && fs::write(at.join("manifest"), manifest).is_ok());
    // Damage is moved aside; opening itself never fails for it.
    let opened = Projection::open(Some(at.to_path_buf()), identity(), false);
    assert!(opened.is_ok());
    if let Ok(projection) = opened {
        run_every_query(&projection.snapshot());
    }
}

/// Every kind of query.
fn run_every_query(snapshot: &Snapshot) {
    let weights = |bias| Weights {
        bias,
        signals: BySignal::of(1.0),
    };
    let mut event_weights = vec![0.0; 13];
    event_weights[2] = 1.0;
    let walk = Traversal {
        deterministic: false,
        threshold: 0.5,
        depth_first: false,
        max_nodes: 5,
        exploration_factor: 1.0,
        signal_decay: 1.0,
        normalize_weights: false,
        theta: 0.6,
        mentions: true,
        related: true,
        min_signal: 0.01,
        max_hops: None,
        max_entity_degree: 50,
        use_tracerank: true,
        max_edges: 10,
    };
    let ranking = |base| Ranking {
        weights: [weights(0.1), weights(-0.3)],
        tracerank_power: 1.0,
        walk: Some(walk.clone()),
        expand_summaries: true,
        ..Ranking::plain(base, TraceParams::new(event_weights.clone()))
    };
    let query = Query::new(QueryParts {
        vector: Some(vec![0.5, 0.5, 0.5, 0.5]),
        terms: Some(words::terms("memory about rivers", None)),
        keywords: vec!["river".into()],
        entities: vec![([9; 16], 1.0)],
        pieces: QueryPieces::new(vec![0, 1, 2], vec![[3; 256]; 3], vec![0.5; 3]).ok(),
        query_time: 10_000,
        ..QueryParts::default()
    });
    let filter = Filter {
        namespace: "default".into(),
        known_at: i64::MAX - 1,
        ..Filter::default()
    };
    let effort = Effort {
        threads: 1,
        staged_rows: 1,
        thread_rows: 7,
    };
    for (base, pool) in [(Base::Linear, Pool::All), (Base::Blend, Pool::Best(2))] {
        let selection = Selection {
            pool,
            ..Selection::best(5)
        };
        let ranking = ranking(base);
        let _ = recall(snapshot, &query, &filter, &ranking, &selection, effort);
    }
    let probe = Probe {
        vector: vec![1.0, 0.0, 0.0, 0.0],
        ..Probe::default()
    };
    let limits = Limits {
        threshold: 0.1,
        top: 3,
    };
    let wanted = Wanted {
        near: limits,
        related: limits,
        known: limits,
    };
    let _ = similar(snapshot, "default", &[probe], wanted, None, 1);
    let graph = Graph::new(snapshot, 3);
    let mut near = Vec::new();
    for id in snapshot.ids(false).iter().chain(&snapshot.ids(true)) {
        let Some(node) = graph.locate(id) else {
            continue;
        };
        near.clear();
        graph.neighbours(node, &mut near);
        assert!(near.iter().all(|n| graph.id(n.node) == n.id));
    }
    let text = NameRules::new(HashSet::new()).analyse("Ada Lovelace", None, true);
    let _ = find_names(snapshot, "default", &[&text.words], 3);
    let _ = lowercase(snapshot, "default", &["rivers".into()]);
}

/// A sound segment: rows with vectors, events, lists and names.
pub fn image(at: &Path) -> Option<Vec<u8>> {
    let projection = Projection::open(Some(at.to_path_buf()), identity(), false).ok()?;
    let mut rows: Vec<NewRow> = (1..=5_u8).map(new_row).collect();
    rows.push(entity(9));
    projection.apply(&rows, 5, [3; 32]).ok()?;
    projection.publish(false).ok()?;
    let manifest = format::parse_manifest(&fs::read(at.join("manifest")).ok()?).ok()?;
    fs::read(at.join(&manifest.segments.first()?.name)).ok()
}

fn edge(number: u8, end: u8, kind: u8) -> EdgeVersion {
    EdgeVersion {
        id: [number.wrapping_mul(31).wrapping_add(end); 16],
        end: [end; 16],
        kind,
        weight: if kind == 0 { 1.0 } else { 0.75 },
        confidence: number.is_multiple_of(2).then_some(0.75),
        created: i64::from(number),
        expired: NO_TIME,
    }
}

fn pieces(count: u8) -> Option<OwnedPieces> {
    let numbers = |n: u8| (0..n).flat_map(|i| u32::from(i).to_le_bytes());
    let codes: Vec<u8> = (0..count).flat_map(|i| [i; CODE_BYTES]).collect();
    OwnedPieces::from_bytes(&numbers(count).collect::<Vec<u8>>(), &codes).ok()
}

fn entity(number: u8) -> NewRow {
    NewRow {
        id: [number; 16],
        seq: i64::from(number),
        wseq: i64::from(number),
        kind: KIND_ENTITY,
        namespace: "default".into(),
        role: Some("PERSON".into()),
        names: vec![
            ("ada lovelace".into(), "Ada Lovelace".into()),
            ("ada".into(), "Ada".into()),
        ],
        ..NewRow::default()
    }
}

fn new_row(number: u8) -> NewRow {
    let seq = i64::from(number);
    NewRow {
        id: [number; 16],
        seq,
        wseq: seq,
        content: format!("memory number{number} about rivers"),
        author: Some("Anna".into()),
        session: Some(format!("s{number}")),
        namespace: "default".into(),
        embedding: Some(vec![f32::from(number), 1.0, 2.0, 3.0]),
        lists: [
            vec!["tag".into()],
            vec!["manual".into()],
            vec![],
            vec!["river".into()],
        ],
        windows: vec![(None, Some(seq)), (Some(seq), None)],
        questions: vec![vec![1.0, 0.0, 2.0, 3.0]],
        edges: vec![
            edge(number, number % 5 + 1, 1),
            edge(number, 9, 0),
            edge(number, 77, 1),
        ],
        events: vec![EventRow {
            kind: 2,
            occurred: seq * 1000,
            recorded: seq,
            seq,
            row: seq,
        }],
        features: 1 << 11 | u32::from(number),
        title: Some("river plan".into()),
        heading: Some("River plan".into()),
        pieces: pieces(number % 3),
        ..NewRow::default()
    }
}
