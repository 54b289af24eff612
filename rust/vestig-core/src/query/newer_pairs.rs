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

/// (newer, older) as places in `ids`, for any two of one scope with vectors whose cosine is at
/// least `least` and whose `t_valid` are more than `gap` microseconds apart; ascending.
#[must_use]
pub fn newer_pairs(snapshot: &Snapshot, ids: &[Id], gap: i64, least: f64) -> Vec<(usize, usize)> {
    let found: Vec<Option<Found<'_>>> = ids.iter().map(|id| Found::of(snapshot, id)).collect();
    let least = threshold(least);
    let mut pairs = Vec::new();
    for (newer, one) in found.iter().enumerate() {
        let Some(one) = one else { continue };
        for (older, other) in found.iter().enumerate() {
            let Some(other) = other else { continue };
            if one.scope == other.scope
                && one.valid.saturating_sub(other.valid) > gap
                && cosine(dot(
                    one.segment.vector(one.row),
                    other.segment.vector(other.row),
                )) >= least
            {
                pairs.push((newer, older));
            }
        }
    }
    pairs
}
