//! How well the times of a memory meet the dates of a query.

use super::math;
use super::temporal::Window;

/// Windows longer than this, in microseconds, say less.
const LONG_US: i64 = 4 * DAY;
/// Those of a memory that are longer than this say hardly more than that it has one.
const VERY_LONG_US: i64 = 31 * DAY;
/// The value of a match with a long window, or of one.
const LONG_SHARE: f64 = 0.5;
/// The value of a match of a very long window.
const VERY_LONG_SHARE: f64 = 0.25;
/// The value of the time at which something was, where its text does not state it.
const HAPPENED_SHARE: f64 = 0.8;
/// The value of the time at which it was written.
const WRITTEN_SHARE: f64 = 0.5;
/// Powers of e by which a match outside of a window comes at least behind one inside.
const OUTSIDE: f64 = 2.0;
/// e to a lower power is 0.
const NOTHING: f64 = -746.0;
/// The least value of what lies inside of a window; what lies outside has less.
pub const MET: f64 = VERY_LONG_SHARE;

/// The times of a memory, in µs.
#[derive(Debug, Clone, Copy)]
pub struct OwnTimes<I> {
    /// Windows that its text states; empty where they do not resolve.
    pub stated: I,
    /// When what it says was; None = not known.
    pub happened: Option<i64>,
    /// When it was written; None = not known.
    pub written: Option<i64>,
}

/// The best match of the times of a memory with windows of a query, in [0, 1].
///
/// A time that the text states counts whole, when it happened 0.8, when it was written 0.5. Each is
/// 1 inside of a window or where two windows overlap; 0.5 where the query's is open or longer than
/// four days, or where that of the memory is longer than that and than the query's; 0.25 where it is
/// longer than 31 days and than the query's. Outside of a window it is e^(−2 − gap / length of the
/// query's window), 0 for an open one. What states the end of an open window meets it. Windows are
/// half-open.
pub fn date_match(own: OwnTimes<impl Iterator<Item = Window>>, query: &[Window]) -> f64 {
    let mut best = nearest(own.stated, query);
    for (at, share) in [(own.happened, HAPPENED_SHARE), (own.written, WRITTEN_SHARE)] {
        if let Some(at) = at.filter(|_| best < share) {
            best = best.max(share * nearest(std::iter::once((Some(at), Some(at))), query));
        }
    }
    best
}

/// The best match of windows and instants with windows of a query.
fn nearest(own: impl Iterator<Item = Window>, query: &[Window]) -> f64 {
    let mut best = 0.0_f64;
    // Exponents are compared first: e to the power of the largest is the largest.
    let mut exponent = f64::NEG_INFINITY;
    for span in own {
        for wanted in query {
            if meets(span, *wanted) {
                let value = share(span, *wanted);
                if value == 1.0 {
                    return 1.0;
                }
                best = best.max(value);
            } else if let Some(gap) = gap(span, *wanted) {
                exponent = exponent.max(-OUTSIDE - gap);
            }
        }
    }
    if best == 0.0 && exponent > NOTHING {
        best = math::exp(exponent);
    }
    best
}

/// Returns whether two windows overlap, an instant lies in one, or one states the end of the other,
/// which is open.
fn meets((begin, end): Window, (low, high): Window) -> bool {
    let bound = low.xor(high);
    let is_instant = begin.is_some() && begin == end;
    if bound.is_some() && !is_instant && (begin == bound || end == bound) {
        return true;
    }
    let early = begin.zip(high).is_none_or(|(begin, high)| begin < high);
    let late = end
        .zip(low)
        .is_none_or(|(end, low)| end > low || (is_instant && end == low));
    early && late
}

/// The value of a match: less where either window is open or long.
fn share(own: Window, wanted: Window) -> f64 {
    let length = |(low, high): Window| {
        low.zip(high)
            .map_or(i64::MAX, |(low, high)| high.saturating_sub(low))
    };
    let (own, asked) = (length(own), length(wanted));
    if own > asked.max(VERY_LONG_US) {
        VERY_LONG_SHARE
    } else if asked > LONG_US || own > asked.max(LONG_US) {
        LONG_SHARE
    } else {
        1.0
    }
}

/// The gap between two windows in lengths of the wanted one; None where that is open.
fn gap((begin, end): Window, (low, high): Window) -> Option<f64> {
    let (low, high) = low.zip(high)?;
    let gap = match (begin, end) {
        (_, Some(end)) if end <= low => low.saturating_sub(end),
        (Some(begin), _) => begin.saturating_sub(high),
        _ => return None,
    };
    Some(gap as f64 / high.saturating_sub(low).max(1) as f64)
}

const DAY: i64 = 86_400_000_000;

/// Gregorian year of an instant.
#[must_use]
pub fn year_of(at: i64) -> i64 {
    date_of(at.div_euclid(DAY)).0
}

/// Year in which a window of at most a month begins; None for a longer or open one.
#[must_use]
pub fn year_of_window((start, end): (i64, i64)) -> Option<i64> {
    (end.checked_sub(start)? <= VERY_LONG_US).then(|| year_of(start))
}

/// (year, month, day) of a number of days since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that a leap day is the last one of its year.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01; None if there is no such date.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (date_of(days) == (year, month, day)).then_some(days)
}

/// A window moved to the same day of each of these years, in which it exists.
#[must_use]
pub fn in_years((start, end): (i64, i64), years: &[i64]) -> Vec<Window> {
    let day = start.div_euclid(DAY);
    let (_, month, day_of_month) = date_of(day);
    let moved = |year: &i64| {
        let by = (days_of(*year, month, day_of_month)? - day).checked_mul(DAY)?;
        Some((Some(start.checked_add(by)?), Some(end.checked_add(by)?)))
    };
    years.iter().filter_map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_days_and_back() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (19_782, (2024, 2, 29)),
            (-719_528, (0, 1, 1)),
        ] {
            assert_eq!(date_of(days), date);
            assert_eq!(days_of(date.0, date.1, date.2), Some(days));
        }
        assert_eq!(days_of(2023, 2, 29), None);
        assert!((-1_000_000..1_000_000).step_by(97).all(|day| {
            let (year, month, of_month) = date_of(day);
            days_of(year, month, of_month) == Some(day)
        }));
    }

    #[test]
    fn a_leap_day_moves_to_leap_years_only() {
        let start = 19_782 * DAY + 5;
        let moved = in_years((start, start + DAY), &[2023, 2024, 2028]);
        let wanted = days_of(2028, 2, 29).unwrap() * DAY + 5;
        assert_eq!(
            moved,
            [
                (Some(start), Some(start + DAY)),
                (Some(wanted), Some(wanted + DAY))
            ]
        );
    }

    fn stated(own: Window, query: Window) -> f64 {
        let own = OwnTimes {
            stated: std::iter::once((own.0.map(|at| at * DAY), own.1.map(|at| at * DAY))),
            happened: None,
            written: None,
        };
        date_match(
            own,
            &[(query.0.map(|at| at * DAY), query.1.map(|at| at * DAY))],
        )
    }

    fn happened(at: i64, query: Window) -> f64 {
        let own = OwnTimes {
            stated: std::iter::empty(),
            happened: Some(at * DAY),
            written: None,
        };
        date_match(
            own,
            &[(query.0.map(|at| at * DAY), query.1.map(|at| at * DAY))],
        )
    }

    const ON: Window = (Some(0), Some(1));

    #[test]
    fn neighbours_come_after_the_day_asked_for() {
        assert_eq!(stated(ON, ON), 1.0);
        for beside in [(Some(1), Some(2)), (Some(-1), Some(0))] {
            assert_eq!(stated(beside, ON), math::exp(-2.0));
        }
        assert_eq!(stated((Some(6), Some(7)), ON), math::exp(-7.0));
        assert_eq!(stated((Some(100_000), Some(100_001)), ON), 0.0);
        assert_eq!(
            stated((Some(35), Some(36)), (Some(0), Some(30))),
            math::exp(-2.0 - 1.0 / 6.0)
        );
    }

    #[test]
    fn what_is_said_comes_before_when_it_was_and_when_it_was_written() {
        let written = OwnTimes {
            stated: std::iter::empty(),
            happened: Some(100 * DAY),
            written: Some(0),
        };
        let values = [
            stated(ON, ON),
            happened(0, ON),
            date_match(written, &[(Some(0), Some(DAY))]),
        ];
        assert_eq!(values, [1.0, HAPPENED_SHARE, WRITTEN_SHARE]);
        assert_eq!(happened(1, ON), HAPPENED_SHARE * math::exp(-2.0));
    }

    #[test]
    fn long_and_open_windows_say_less() {
        assert_eq!(stated(ON, (Some(0), Some(4))), 1.0);
        assert_eq!(stated(ON, (Some(0), Some(5))), LONG_SHARE);
        assert_eq!(stated((Some(0), Some(5)), ON), LONG_SHARE);
        assert_eq!(stated((Some(0), Some(32)), ON), VERY_LONG_SHARE);
        assert_eq!(stated((None, Some(32)), ON), VERY_LONG_SHARE);
        assert_eq!(
            stated((Some(0), Some(365)), (Some(0), Some(365))),
            LONG_SHARE
        );
        assert_eq!(stated(ON, (None, Some(9))), LONG_SHARE);
        assert_eq!(happened(10, (None, Some(9))), 0.0);
        assert_eq!(happened(9, (None, None)), HAPPENED_SHARE * LONG_SHARE);
    }

    #[test]
    fn what_states_the_end_of_an_open_window_meets_it() {
        let before = (None, Some(9));
        for own in [(Some(9), None), (None, Some(9)), (Some(9), Some(10))] {
            assert_eq!(stated(own, before), LONG_SHARE);
        }
        assert_eq!(stated((Some(10), Some(11)), before), 0.0);
        assert_eq!(happened(9, before), 0.0);
    }
}
