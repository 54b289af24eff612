//! How well the times of a memory meet the dates of a query.

use super::math;
use super::temporal::Window;

/// Windows longer than this, in microseconds, say less.
const LONG_US: i64 = 4 * DAY;
/// The value of a match with a long window.
const LONG_SHARE: f64 = 0.5;
/// e to a lower power is 0.
const NOTHING: f64 = -746.0;

/// The best match of instants and windows of a memory with windows of a query, in [0, 1].
///
/// 1 inside of a window or where two overlap, else e^(−gap / length of the query's window), half of
/// that for windows of more than four days; an open window counts inside only. Both ends of a
/// memory's window count as inside of it, the end of a query's window does not. Times in µs.
pub fn date_match(own: impl Iterator<Item = Window>, query: &[Window]) -> f64 {
    let mut best = 0.0_f64;
    // Exponents are compared first: e to the power of the largest is the largest.
    let mut exponents = [f64::NEG_INFINITY; 2];
    for (begin, end) in own {
        for (low, high) in query {
            let length = low.zip(*high).map(|(low, high)| high.saturating_sub(low));
            let long = length.is_some_and(|length| length > LONG_US);
            let ends_late = end.zip(*low).is_none_or(|(end, low)| end >= low);
            let begins_early = begin.zip(*high).is_none_or(|(begin, high)| begin < high);
            if ends_late && begins_early {
                if !long {
                    return 1.0;
                }
                best = LONG_SHARE;
                continue;
            }
            let (Some(low), Some(high), Some(length)) = (*low, *high, length) else {
                continue;
            };
            let gap = match (begin, end) {
                (_, Some(end)) if end < low => low.saturating_sub(end),
                (Some(begin), _) => begin.saturating_sub(high),
                _ => continue,
            };
            let exponent = &mut exponents[usize::from(long)];
            *exponent = exponent.max(-(gap as f64) / length.max(1) as f64);
        }
    }
    for (exponent, share) in exponents.into_iter().zip([1.0, LONG_SHARE]) {
        if exponent > NOTHING {
            best = best.max(share * math::exp(exponent));
        }
    }
    best
}

const DAY: i64 = 86_400_000_000;

/// Gregorian year of an instant.
#[must_use]
pub fn year_of(at: i64) -> i64 {
    date_of(at.div_euclid(DAY)).0
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

    #[test]
    fn windows_fall_off_by_their_length() {
        let value = |at: i64, window: Window| {
            let at = Some(at * DAY);
            date_match([(at, at)].into_iter(), &[window])
        };
        let (day, month) = ((Some(0), Some(DAY)), (Some(0), Some(30 * DAY)));
        assert_eq!(value(0, day), 1.0);
        assert_eq!(value(-5, day), math::exp(-5.0));
        assert_eq!(value(11, day), math::exp(-10.0));
        assert_eq!(value(29, month), 0.5);
        assert_eq!(value(60, month), 0.5 * math::exp(-1.0));
        assert_eq!(value(3, (Some(0), Some(4 * DAY))), 1.0);
        assert_eq!(value(3, (Some(0), Some(4 * DAY + 1))), 0.5);
        assert_eq!(value(-1, (Some(0), None)), 0.0);
        assert_eq!(value(9, (Some(0), None)), 1.0);
        assert_eq!(value(9, (None, None)), 1.0);
        assert_eq!(value(100_000, day), 0.0);
        let both = [day, month].into_iter();
        let at = Some(40 * DAY);
        assert_eq!(
            date_match([(at, at)].into_iter(), &both.collect::<Vec<_>>()),
            0.5 * math::exp(-1.0 / 3.0)
        );
    }
}
