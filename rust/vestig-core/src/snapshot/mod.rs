//! One consistent state: published segments, then the tail, each with the rows that still count.
//!
//! The tail is made of segments too, held in memory and merged like a binary counter, so one
//! scan serves both and a commit costs O(log tail).

pub mod load;
pub mod merge;
pub mod merge_plan;
mod merged_rows;
mod node_places;
pub mod projection;
pub mod spill;
pub mod tail;
mod verify;
pub mod writer;

use std::sync::Arc;

use crate::kernels::bits::{Bits, count, first_rows, has, ones, set_bits};
use crate::segment::format::{Damage, Identity};
use crate::segment::image::build;
use crate::segment::map::{Held, Region};
use crate::segment::row::{Forward, RowVersion, row_version};
use crate::segment::{Id, Segment};
use node_places::NodePlaces;

/// A segment and its rows that no later version masks.
#[derive(Clone)]
pub struct Part {
    /// All rows, masked ones included.
    pub segment: Arc<Segment>,
    /// Those that count.
    pub live: Arc<Bits>,
    /// How many count.
    pub live_rows: usize,
    /// How many of these are memories.
    pub live_memories: usize,
}

impl Part {
    /// All rows count.
    #[must_use]
    pub fn whole(segment: Arc<Segment>) -> Self {
        let live_rows = segment.rows();
        Self {
            live: Arc::new(ones(live_rows)),
            live_rows,
            live_memories: segment.memory_rows(),
            segment,
        }
    }

    fn with_live(&self, live: Bits) -> Self {
        let live_rows = count(&live);
        let mut memories = live.clone();
        first_rows(&mut memories, self.segment.memory_rows());
        Self {
            segment: Arc::clone(&self.segment),
            live_memories: count(&memories),
            live: Arc::new(live),
            live_rows,
        }
    }

    /// Without the rows whose memory has a version that counts in `newer`.
    #[must_use]
    pub fn masked_by(&self, newer: &Part) -> Self {
        let mut live: Option<Bits> = None;
        let mut clear = |row: usize| {
            let bits = live.get_or_insert_with(|| self.live.as_ref().clone());
            bits[row / 64] &= !(1 << (row % 64));
        };
        if newer.live_rows <= self.live_rows {
            for row in set_bits(&newer.live) {
                if let Some(own) = self.segment.find(&newer.segment.ids()[row]) {
                    clear(own);
                }
            }
        } else {
            for own in set_bits(&self.live) {
                let found = newer.segment.find(&self.segment.ids()[own]);
                if found.is_some_and(|row| has(&newer.live, row)) {
                    clear(own);
                }
            }
        }
        live.map_or_else(|| self.clone(), |live| self.with_live(live))
    }

    /// Without versions of these memories up to their transactions.
    #[must_use]
    pub fn without(&self, removals: &[(Id, u64)]) -> Self {
        let rows: Vec<usize> = removals
            .iter()
            .filter_map(|removal| self.segment.version_upto(removal))
            .filter(|row| has(&self.live, *row))
            .collect();
        if rows.is_empty() {
            return self.clone();
        }
        let mut live = self.live.as_ref().clone();
        for row in rows {
            live[row / 64] &= !(1 << (row % 64));
        }
        self.with_live(live)
    }

    /// Only rows written after this transaction.
    #[must_use]
    pub fn written_after(&self, seq: u64) -> Self {
        let wseq = self
            .segment
            .column::<i64>(crate::segment::format::Section::Wseq);
        let mut live = self.live.as_ref().clone();
        for row in set_bits(&self.live) {
            if u64::try_from(wseq[row]).is_ok_and(|w| w <= seq) {
                live[row / 64] &= !(1 << (row % 64));
            }
        }
        self.with_live(live)
    }
}

/// Which file of the disk a snapshot was made from; equal stamps mean an unchanged manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Length of the manifest in bytes.
    pub length: u64,
    /// Changes with every rename.
    pub file: u64,
    /// Modification time.
    pub modified: Option<std::time::SystemTime>,
}

/// A state that never changes; every reader keeps one for the length of its call.
#[derive(Clone)]
pub struct Snapshot {
    /// Store, model and analyser that every part belongs to.
    pub identity: Arc<Identity>,
    /// Oldest first; the first `published` are files.
    pub parts: Vec<Part>,
    /// Number of parts that are files.
    pub published: usize,
    /// Of the manifest; 0 before the first.
    pub generation: u64,
    /// Last transaction in the published parts.
    pub upto_seq: u64,
    /// Last transaction in all parts.
    pub applied_seq: u64,
    /// Chain head at `applied_seq`.
    pub chain_head: [u8; 32],
    /// Manifest this was made from; None = there was none.
    pub stamp: Option<Stamp>,
    /// Forgotten memories that published parts may still hold, with the transaction after which
    /// none of their versions counts. Published parts up to that transaction are without them.
    pub removed: Arc<Vec<(Id, u64)>>,
    places: NodePlaces,
}

impl Snapshot {
    /// No rows.
    #[must_use]
    pub fn empty(identity: Arc<Identity>) -> Self {
        Self {
            identity,
            parts: Vec::new(),
            published: 0,
            generation: 0,
            upto_seq: 0,
            applied_seq: 0,
            chain_head: [0; 32],
            stamp: None,
            removed: Arc::default(),
            places: NodePlaces::default(),
        }
    }

    /// Live memories.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.live_memories).sum()
    }

    /// Part and row of the version that counts of a memory or entity.
    #[must_use]
    pub(crate) fn locate(&self, id: &Id) -> Option<(usize, usize)> {
        node_places::locate(&self.parts, id)
    }

    /// Like `locate`, of the id at this place among the other ids of a part.
    pub(crate) fn end(&self, part: usize, other: usize) -> Option<(usize, usize)> {
        self.places.end(&self.parts, part, other)
    }

    /// The place of a row of one part in the lists by node of another one.
    pub(crate) fn place_in(&self, part: usize, node: (usize, usize)) -> Option<usize> {
        self.places.place(&self.parts, part, node)
    }

    /// Live entities.
    #[must_use]
    pub fn entity_rows(&self) -> usize {
        let entities = |part: &Part| part.live_rows - part.live_memories;
        self.parts.iter().map(entities).sum()
    }

    /// Live memories and entities of the tail.
    #[must_use]
    pub fn tail_rows(&self) -> usize {
        self.parts[self.published..]
            .iter()
            .map(|part| part.live_rows)
            .sum()
    }

    /// Newest version of a memory.
    #[must_use]
    pub fn find(&self, id: &Id) -> Option<(&Segment, usize)> {
        let (part, row) = self.place(id)?;
        Some((self.parts[part].segment.as_ref(), row))
    }

    /// Number of the part that has the newest version of a memory, and its row there.
    #[must_use]
    pub fn place(&self, id: &Id) -> Option<(usize, usize)> {
        self.parts
            .iter()
            .enumerate()
            .rev()
            .find_map(|(number, part)| {
                let row = part.segment.find(id)?;
                has(&part.live, row).then_some((number, row))
            })
    }

    /// Ids of all live memories, or of all live entities, ascending.
    #[must_use]
    pub fn ids(&self, entities: bool) -> Vec<Id> {
        let rows = |part: &Part| {
            let memories = part.segment.memory_rows();
            set_bits(&part.live)
                .filter(|row| (*row >= memories) == entities)
                .map(|row| part.segment.ids()[row])
                .collect::<Vec<Id>>()
        };
        let mut ids: Vec<Id> = self.parts.iter().flat_map(rows).collect();
        ids.sort_unstable();
        ids
    }

    /// Adds a part whose rows replace older versions.
    pub fn push(&mut self, part: Part) {
        for older in &mut self.parts {
            *older = older.masked_by(&part);
        }
        self.parts.push(part);
    }

    /// Masks every version of these memories up to their transaction, for good.
    pub fn remove(&mut self, removals: &[(Id, u64)]) {
        if removals.is_empty() {
            return;
        }
        for part in &mut self.parts {
            *part = part.without(removals);
        }
        let mut removed = self.removed.as_ref().clone();
        removed.extend_from_slice(removals);
        self.removed = Arc::new(removed);
    }

    /// Returns whether a part holds a version of a forgotten memory, a masked one too.
    #[must_use]
    pub fn holds_removed(&self, part: &Part) -> bool {
        let holds = |removal| part.segment.version_upto(removal).is_some();
        self.removed.iter().any(holds)
    }

    /// Adds rows to the tail and keeps the number of its parts logarithmic.
    pub fn append(&mut self, rows: &[RowVersion<'_>]) -> Result<(), Damage> {
        if rows.is_empty() {
            return Ok(());
        }
        let image = build(&self.identity, rows);
        self.push(self.hold(image)?);
        while self.parts.len() >= self.published + 2 {
            let last = self.parts.len() - 1;
            let before = &self.parts[last - 1];
            if before.segment.name().is_some() || before.live_rows > self.parts[last].live_rows {
                break;
            }
            let merged = merged_image(&self.identity, &self.parts[last - 1..]);
            self.parts.truncate(last - 1);
            self.parts.push(self.hold(merged)?);
        }
        Ok(())
    }

    fn hold(&self, image: Held) -> Result<Part, Damage> {
        let segment = Segment::bind(Region::Held(image), &self.identity, None)?;
        Ok(Part::whole(Arc::new(segment)))
    }

    /// The tail of `older` that these published parts do not contain, put on top of them.
    pub fn adopt_tail(&mut self, older: &Snapshot) {
        for part in &older.parts[older.published..] {
            let part = part.written_after(self.upto_seq);
            if part.live_rows > 0 {
                self.push(part);
            }
        }
        let upto = self.upto_seq;
        let later = older.removed.iter().filter(|(_, seq)| *seq > upto);
        self.remove(&later.copied().collect::<Vec<_>>());
        if older.applied_seq > self.upto_seq {
            self.applied_seq = older.applied_seq;
            self.chain_head = older.chain_head;
        }
    }
}

/// One image of the live rows of these parts.
#[must_use]
pub fn merged_image(identity: &Identity, parts: &[Part]) -> Held {
    let mut rows = Vec::with_capacity(parts.iter().map(|part| part.live_rows).sum());
    for part in parts {
        let forward = Forward::of(&part.segment);
        let live = set_bits(&part.live);
        rows.extend(live.map(|row| row_version(&part.segment, &forward, row)));
    }
    build(identity, &rows)
}
