//! TraceRank: how reinforcement, connectivity and the age of a fact lift or lower it.

use std::cmp::Reverse;

use super::math;
use super::temporal::DAY_US;
use crate::error::{CoreError, Result};

/// Microseconds of an hour.
const HOUR_US: f64 = 3_600_000_000.0;
/// Smallest factor of the two decaying stabilities.
const CONFIDENCE_FLOOR: f64 = 0.01;

/// How long a fact tends to hold. The order is the code in the projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Never changes (birthplace).
    Static,
    /// Changes over months (employer).
    Dynamic,
    /// Changes over days (mood).
    Ephemeral,
    /// Nothing known.
    Unknown,
}

impl Stability {
    /// The stability of a code, 0 … 3 in the order above.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Static),
            1 => Some(Self::Dynamic),
            2 => Some(Self::Ephemeral),
            3 => Some(Self::Unknown),
            _ => None,
        }
    }

    /// The code of a stability.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// One event of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Code of the event type: position in `TraceParams::event_weights`.
    pub kind: u8,
    /// When it happened, microseconds since the epoch.
    pub occurred_us: i64,
    /// Write transaction that recorded it.
    pub seq: i64,
    /// Position in the ledger's event table; breaks the last ties.
    pub row: i64,
}

/// Settings of TraceRank, with its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceParams {
    /// `false`: the multiplier is exactly 1.0 and nothing is computed.
    pub enabled: bool,
    /// Weight per event type code; missing codes weigh 0, weights ≤ 0 are not counted.
    pub event_weights: Vec<f64>,
    /// E-folding time of an event, days, > 0.
    pub tau_days: f64,
    /// Gap to the next newer event below which an event is discounted, hours.
    pub cooldown_hours: f64,
    /// Factor of a discounted event.
    pub burst_discount: f64,
    /// Strength of the logarithmic boost.
    pub k: f64,
    /// `false`: confidence is 1.0.
    pub temporal_decay_enabled: bool,
    /// E-folding time of dynamic facts, days, > 0.
    pub dynamic_tau_days: f64,
    /// E-folding time of ephemeral facts, days, > 0; `None` = max(3, min(7, dynamic / 4)).
    pub ephemeral_tau_days: Option<f64>,
    /// Factor of static facts.
    pub static_boost: f64,
    /// Lower end of the clip.
    pub clip_min: f64,
    /// Upper end of the clip, ≥ `clip_min`.
    pub clip_max: f64,
    /// True if spaced repetition earns more.
    pub spacing_enabled: bool,
    /// Largest extra share of a spaced event.
    pub spacing_bonus: f64,
    /// Gap to the next older event that earns the whole bonus, days, > 0.
    pub spacing_days: f64,
    /// True if inbound RELATED edges count.
    pub connectivity_enabled: bool,
    /// Strength of connectivity.
    pub graph_k: f64,
}

impl TraceParams {
    /// The defaults with the given weight per event type code.
    pub fn new(event_weights: Vec<f64>) -> Self {
        Self {
            enabled: true,
            event_weights,
            tau_days: 21.0,
            cooldown_hours: 24.0,
            burst_discount: 0.2,
            k: 0.35,
            temporal_decay_enabled: true,
            dynamic_tau_days: 90.0,
            ephemeral_tau_days: None,
            static_boost: 1.0,
            clip_min: 0.25,
            clip_max: 2.0,
            spacing_enabled: false,
            spacing_bonus: 0.25,
            spacing_days: 14.0,
            connectivity_enabled: false,
            graph_k: 0.15,
        }
    }

    /// Checks every number.
    ///
    /// # Errors
    /// `Invalid` naming the first field that is not finite, negative, or not above 0 where a
    /// division needs it, or `clip_min` above `clip_max`.
    pub fn check(&self) -> Result<()> {
        let positive = [
            ("tau_days", self.tau_days),
            ("dynamic_tau_days", self.dynamic_tau_days),
            ("ephemeral_tau_days", self.ephemeral_tau_days.unwrap_or(1.0)),
            ("spacing_days", self.spacing_days),
        ];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(CoreError::Invalid(format!(
                    "expected {name} > 0, got {value}"
                )));
            }
        }
        let natural = [
            ("cooldown_hours", self.cooldown_hours),
            ("burst_discount", self.burst_discount),
            ("k", self.k),
            ("static_boost", self.static_boost),
            ("clip_min", self.clip_min),
            ("clip_max", self.clip_max),
            ("spacing_bonus", self.spacing_bonus),
            ("graph_k", self.graph_k),
        ];
        let weights = self
            .event_weights
            .iter()
            .map(|&weight| ("event_weights", weight));
        for (name, value) in natural.into_iter().chain(weights) {
            if !(value.is_finite() && value >= 0.0) {
                return Err(CoreError::Invalid(format!(
                    "expected {name} >= 0, got {value}"
                )));
            }
        }
        if self.clip_min > self.clip_max {
            let (low, high) = (self.clip_min, self.clip_max);
            let text = format!("expected clip_min <= clip_max, got {low} and {high}");
            return Err(CoreError::Invalid(text));
        }
        Ok(())
    }

    /// E-folding time of ephemeral facts in days.
    pub fn ephemeral_tau(&self) -> f64 {
        match self.ephemeral_tau_days {
            Some(days) => days,
            None => (self.dynamic_tau_days / 4.0).clamp(3.0, 7.0),
        }
    }

    /// Weight of an event type code; 0 for unknown codes.
    #[inline]
    pub fn weight(&self, kind: u8) -> f64 {
        self.event_weights
            .get(usize::from(kind))
            .copied()
            .unwrap_or(0.0)
    }

    /// 1 + `graph_k` · ln(1 + n), or 1.0 when off.
    #[inline]
    pub fn connectivity(&self, n: u64) -> f64 {
        if self.connectivity_enabled {
            1.0 + self.graph_k * math::ln(1.0 + n as f64)
        } else {
            1.0
        }
    }

    /// Returns whether a fact of that stability may weigh less or more with its age.
    #[inline]
    pub fn ages(&self, stability: Stability) -> bool {
        self.temporal_decay_enabled
            && match stability {
                Stability::Static => self.static_boost != 1.0,
                Stability::Unknown => false,
                Stability::Dynamic | Stability::Ephemeral => true,
            }
    }

    /// Factor of a fact of that stability that began at `valid_from_us`.
    pub fn confidence(&self, stability: Stability, valid_from_us: i64, query_time_us: i64) -> f64 {
        let age = days_between(valid_from_us, query_time_us);
        if !self.temporal_decay_enabled || age <= 0.0 {
            return 1.0;
        }
        match stability {
            Stability::Static => self.static_boost,
            Stability::Unknown => 1.0,
            Stability::Dynamic => math::exp(-age / self.dynamic_tau_days).max(CONFIDENCE_FLOOR),
            Stability::Ephemeral => math::exp(-age / self.ephemeral_tau()).max(CONFIDENCE_FLOOR),
        }
    }
}

/// The multiplier and everything that made it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceFactors {
    /// Sum of the counted events' weights.
    pub trace: f64,
    /// 1 + k · ln(1 + trace).
    pub basic: f64,
    /// 1 + `graph_k` · ln(1 + n), or 1.0 when off.
    pub connectivity: f64,
    /// Factor of the fact's age; 1.0 for what does not age.
    pub confidence: f64,
    /// basic · connectivity · confidence.
    pub unclipped: f64,
    /// The multiplier: `unclipped` clipped to [`clip_min`, `clip_max`].
    pub clipped: f64,
    /// Number of counted events.
    pub events: u32,
}

impl TraceFactors {
    /// Exactly 1.0 throughout: TraceRank switched off, and every summary.
    pub const NONE: Self = Self {
        trace: 0.0,
        basic: 1.0,
        connectivity: 1.0,
        confidence: 1.0,
        unclipped: 1.0,
        clipped: 1.0,
        events: 0,
    };
}

/// Days from one instant to another, negative when `to` is earlier.
#[inline]
fn days_between(from_us: i64, to_us: i64) -> f64 {
    to_us.saturating_sub(from_us) as f64 / DAY_US
}

/// The values besides its events on which the multiplier of one memory depends.
#[derive(Clone, Copy, Debug)]
pub struct TraceSubject {
    /// When its fact began, else when it was stored; microseconds since the epoch.
    pub valid_from_us: i64,
    /// How long its fact tends to hold.
    pub stability: Stability,
    /// Distinct active memories with an unexpired RELATED edge to it; used when `connectivity_enabled`.
    pub connectivity_n: u64,
}

/// The multiplier of one memory at `query_time_us`.
///
/// `events` may hold every event of the memory, in any order; only those with a weight above 0
/// count. They are sorted inside by (`occurred_us`, `seq`, `row`), newest first, in `scratch`
/// (any content is dropped; keep it between calls to save allocations).
pub fn tracerank(
    scratch: &mut Vec<TraceEvent>,
    events: impl IntoIterator<Item = TraceEvent>,
    query_time_us: i64,
    subject: TraceSubject,
    params: &TraceParams,
) -> TraceFactors {
    if !params.enabled {
        return TraceFactors::NONE;
    }
    scratch.clear();
    scratch.extend(
        events
            .into_iter()
            .filter(|event| params.weight(event.kind) > 0.0),
    );
    scratch.sort_unstable_by_key(|e| Reverse((e.occurred_us, e.seq, e.row, e.kind)));
    let trace = trace_sum(scratch, query_time_us, params);
    // ln 1 is 0: what most memories of a walk have.
    let logarithm = if trace == 0.0 {
        0.0
    } else {
        math::ln(1.0 + trace)
    };
    let basic = 1.0 + params.k * logarithm;
    let connectivity = params.connectivity(subject.connectivity_n);
    let confidence = params.confidence(subject.stability, subject.valid_from_us, query_time_us);
    let unclipped = basic * connectivity * confidence;
    TraceFactors {
        trace,
        basic,
        connectivity,
        confidence,
        unclipped,
        clipped: unclipped.max(params.clip_min).min(params.clip_max),
        events: scratch.len() as u32,
    }
}

/// Reinforcement: the sum over counted events, newest first.
fn trace_sum(newest_first: &[TraceEvent], query_time_us: i64, params: &TraceParams) -> f64 {
    let cooldown_us = params.cooldown_hours * HOUR_US;
    let mut sum = 0.0;
    for (i, event) in newest_first.iter().enumerate() {
        let age = days_between(event.occurred_us, query_time_us).max(0.0);
        let recency = math::exp(-age / params.tau_days);
        let newer = i.checked_sub(1).and_then(|before| newest_first.get(before));
        let burst = match newer {
            Some(newer) if gap_us(event, newer) < cooldown_us => params.burst_discount,
            _ => 1.0,
        };
        let spacing = match newest_first.get(i + 1) {
            Some(older) if params.spacing_enabled => {
                let gap_days = gap_us(older, event) / DAY_US;
                1.0 + params.spacing_bonus * (gap_days / params.spacing_days).min(1.0)
            }
            _ => 1.0,
        };
        sum += params.weight(event.kind) * recency * burst * spacing;
    }
    sum
}

#[inline]
fn gap_us(older: &TraceEvent, newer: &TraceEvent) -> f64 {
    newer.occurred_us.saturating_sub(older.occurred_us) as f64
}

#[cfg(test)]
mod tests;
