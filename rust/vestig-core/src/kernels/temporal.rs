//! Temporal match of a memory with the windows of a query.

use super::math;
use crate::error::{CoreError, Result};

/// Microseconds of a day.
pub const DAY_US: f64 = 86_400_000_000.0;

/// A half-open window [start, end) in microseconds since the epoch; `None` = open on that side.
pub type Window = (Option<i64>, Option<i64>);

/// How well the times of a memory meet the windows of a query, in (0, 1] (0 only by underflow).
///
/// Per pair of an instant or window of the memory and a query window: 1 if the instant lies in,
/// or the windows overlap; else exp(−distance / width), distance in days to the nearest end,
/// width = length of the query window in days, at least 1, `open_scale_days` for an open one. The
/// maximum over all pairs counts. Times in microseconds.
///
/// # Errors
/// `Invalid` when there is no query window, or neither instant nor window, when a window ends
/// before it starts, or when `open_scale_days` is not above 0: the signal is unavailable then.
pub fn temporal_match(
    instants: &[i64],
    windows: &[Window],
    query: &[Window],
    open_scale_days: f64,
) -> Result<f64> {
    if query.is_empty() {
        return Err(CoreError::Invalid(
            "expected at least one query window".into(),
        ));
    }
    if instants.is_empty() && windows.is_empty() {
        return Err(CoreError::Invalid(
            "expected at least one instant or window".into(),
        ));
    }
    if open_scale_days.is_nan() || open_scale_days <= 0.0 {
        let text = format!("expected open_scale_days > 0, got {open_scale_days}");
        return Err(CoreError::Invalid(text));
    }
    for (start, end) in windows.iter().chain(query) {
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            return Err(CoreError::Invalid(
                "expected windows that end after they start".into(),
            ));
        }
    }
    let mut best = 0.0f64;
    for wanted in query {
        let width = width_days(*wanted, open_scale_days);
        let spans = windows
            .iter()
            .copied()
            .chain(instants.iter().map(|&at| (Some(at), Some(at))));
        for span in spans {
            let distance = distance_days(span, *wanted);
            let value = if distance > 0.0 {
                math::exp(-distance / width)
            } else {
                1.0
            };
            best = best.max(value);
        }
    }
    Ok(best)
}

fn width_days(window: Window, open_scale_days: f64) -> f64 {
    match window {
        (Some(start), Some(end)) => (micros(start, end) / DAY_US).max(1.0),
        _ => open_scale_days,
    }
}

/// Days between two windows; 0 when they overlap or touch (exp(−0) = 1 either way).
fn distance_days(span: Window, wanted: Window) -> f64 {
    let gap = |end: Option<i64>, start: Option<i64>| match (end, start) {
        (Some(end), Some(start)) if start > end => micros(end, start) / DAY_US,
        _ => 0.0,
    };
    gap(span.1, wanted.0).max(gap(wanted.1, span.0))
}

/// `to` − `from` in microseconds, without overflow.
fn micros(from: i64, to: i64) -> f64 {
    (i128::from(to) - i128::from(from)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    #[test]
    fn golden_values() {
        let value = |instant: f64, window: Window| {
            let at = (instant * DAY_US) as i64;
            temporal_match(&[at], &[], &[window], 30.0).unwrap()
        };
        assert!((value(10.5, (Some(0), Some(7 * DAY))) - 0.606531).abs() < 5e-7);
        assert!((value(4.0, (Some(0), Some(DAY))) - 0.049787).abs() < 5e-7);
        assert!((value(-15.0, (Some(0), None)) - 0.606531).abs() < 5e-7);
        assert_eq!(value(3.0, (Some(0), Some(7 * DAY))), 1.0);
    }

    #[test]
    fn overlap_and_maximum() {
        let week = (Some(0), Some(7 * DAY));
        let other = (Some(6 * DAY), Some(20 * DAY));
        assert_eq!(
            temporal_match(&[1000 * DAY], &[other], &[week], 30.0).unwrap(),
            1.0
        );
        assert_eq!(
            temporal_match(&[], &[(None, None)], &[week], 30.0).unwrap(),
            1.0
        );
        assert!(temporal_match(&[], &[], &[week], 30.0).is_err());
        assert!(temporal_match(&[0], &[], &[], 30.0).is_err());
        assert!(temporal_match(&[i64::MIN], &[], &[(Some(i64::MAX), None)], 30.0).is_ok());
    }
}
