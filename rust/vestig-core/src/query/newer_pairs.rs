//! Which of a few memories are newer than others that they are like.

use crate::kernels::dot::{cosine, dot, threshold};
use crate::segment::format::Section;
use crate::segment::{Id, Segment};
use crate::snapshot::Snapshot;

/// A memory of the snapshot, with what pairs are judged by.
struct Found<'a> {
    segment: &'a Segment,
    row: usize,
    scope: Option<&'a str>,
    valid: i64,
}

impl<'a> Found<'a> {
    /// None = unknown, or without a vector.
    fn of(snapshot: &'a Snapshot, id: &Id) -> Option<Self> {
        let (segment, row) = snapshot.find(id)?;
        let scope = segment.column::<u32>(Section::Scope)[row];
        segment.attributes(row).embedded.then(|| Self {
            segment,
            row,
            scope: segment.string(scope),
            valid: segment.column::<i64>(Section::Valid)[row],
        })
    }
}

/// A ranked memory.
#[derive(Debug, Clone, Copy)]
pub struct Ranked {
    /// Its place among all that were ranked.
    pub place: usize,
    /// Which memory.
    pub id: Id,
    /// What it was ranked by.
    pub level: f64,
}

/// When one of two memories is newer than the other.
#[derive(Debug, Clone, Copy)]
pub struct NewerRule {
    /// It must hold more than so many microseconds later.
    pub gap: i64,
    /// The least cosine of the two.
    pub cosine: f64,
    /// How far its level may lie below that of the older one.
    pub most_below: f64,
}

/// A memory and an older one, ranked higher, that it is newer than.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewerPair {
    /// Place of the newer one.
    pub newer: usize,
    /// Place of the older one.
    pub older: usize,
    /// How far the level of the newer one lies below.
    pub below: f64,
}

/// Of memories, best first, any two of one scope with vectors of which the lower one is newer, by
/// place.
#[must_use]
pub fn newer_pairs(snapshot: &Snapshot, rows: &[Ranked], rule: NewerRule) -> Vec<NewerPair> {
    // where no two that follow each other are near enough, no two are
    let near = |pair: &[Ranked]| pair[0].level - pair[1].level <= rule.most_below;
    if !rows.windows(2).any(near) {
        return Vec::new();
    }
    let found: Vec<Option<Found<'_>>> = rows
        .iter()
        .map(|row| Found::of(snapshot, &row.id))
        .collect();
    let least = threshold(rule.cosine);
    let mut pairs = Vec::new();
    for (at, (row, one)) in rows.iter().zip(&found).enumerate() {
        let Some(one) = one else { continue };
        for (above, other) in rows.iter().zip(&found).take(at) {
            let Some(other) = other else { continue };
            let below = above.level - row.level;
            if below <= rule.most_below
                && one.scope == other.scope
                && one.valid.saturating_sub(other.valid) > rule.gap
                && cosine(dot(
                    one.segment.vector(one.row),
                    other.segment.vector(other.row),
                )) >= least
            {
                pairs.push(NewerPair {
                    newer: row.place,
                    older: above.place,
                    below,
                });
            }
        }
    }
    pairs
}
