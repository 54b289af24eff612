//! Terms of L that texts, authors and dates give.

use std::sync::OnceLock;

use super::analysed_query::Query;
use super::content_signals;
use super::score_bounds::TurnValues;
use super::scorer::Scorer;
use super::signal::{Signal, question_kind};
use super::text_flags::{Authors, LENGTHS, each_row, flag};
use super::turn_columns::{largest, largest_of};
use super::turn_signals::TurnSignals;
use crate::kernels::author_names::MentionedNames;
use crate::kernels::dates::{date_match, in_years};
use crate::kernels::math;
use crate::kernels::temporal::Window;
use crate::segment::format::Section;
use crate::segment::{NO_TIME, OPEN_START};

impl TurnSignals<'_> {
    fn authors(&self) -> &Authors {
        self.index.authors(&self.segments)
    }

    /// Maxima of what the texts alone say.
    pub(super) fn fill_texts(&self, scorer: &mut Scorer<'_>) {
        let text_flags = self.text_flags();
        for (signal, _) in TEXT_SIGNALS {
            if scorer.weighs(signal) && self.fits_question(signal) {
                let values = text_flags
                    .distinct_codes
                    .iter()
                    .map(|kind| text_value(signal, *kind));
                scorer.maxima[signal] = Some(largest(values));
            }
        }
        if scorer.weighs(Signal::FormLength) {
            let most = text_flags.lengths.iter().copied().max().unwrap_or(0);
            scorer.maxima[Signal::FormLength] = Some(length_value(most));
        }
    }

    /// Whether the question is of the kind that a signal is about.
    fn fits_question(&self, signal: Signal) -> bool {
        let kind = TEXT_SIGNALS.iter().find(|(of, _)| *of == signal);
        kind.is_none_or(|(_, kind)| *kind == 0 || self.question_kinds & kind != 0)
    }

    pub(super) fn fill_authors(&mut self, scorer: &mut Scorer<'_>, query: &Query) {
        let weighs = scorer.weighs(Signal::Person);
        let Some(text) = query.names_text.as_ref().filter(|_| weighs) else {
            return;
        };
        let mentioned = MentionedNames::new(text);
        let names = &self.authors().names;
        let named: Vec<bool> = names.iter().map(|name| mentioned.contains(name)).collect();
        let count = named.iter().filter(|named| **named).count();
        if count > 0 {
            let other = if count == 1 { -1.0 } else { 0.0 };
            let value = |named: &bool| if *named { 1.0 } else { other };
            self.author_values = named.iter().map(value).collect();
        }
        scorer.maxima[Signal::Person] = Some(f64::from(count > 0));
    }

    pub(super) fn person(&self, turn: usize) -> f64 {
        if self.author_values.is_empty() {
            return 0.0;
        }
        let author = self.authors().of[turn] as usize;
        self.author_values.get(author).copied().unwrap_or(0.0)
    }

    /// As `person`, by the number of the author.
    pub(super) fn by_author(&self) -> TurnValues<'_> {
        let unnamed = std::iter::once(0.0);
        let table = self.author_values.iter().copied().chain(unnamed).collect();
        TurnValues::Table(table, &self.authors().of)
    }

    pub(super) fn fill_dates(&mut self, scorer: &mut Scorer<'_>, query: &Query) {
        let weighs = scorer.weighs(Signal::Date);
        let decides_content = content_signals::any_weighed(scorer)
            && query.content.iter().any(|content| content.in_time);
        if query.dates.is_empty() || !(weighs || decides_content) {
            return;
        }
        let mut windows: Vec<Window> = Vec::new();
        for date in &query.dates {
            match *date {
                (Some(start), Some(end), true) => {
                    windows.extend(in_years((start, end), self.index.years(&self.segments)));
                }
                (start, end, _) => windows.push((start, end)),
            }
        }
        let open = |time: i64, none: i64| (time != none).then_some(time);
        let mut dates = vec![0.0; self.index.len()];
        each_row(&self.index, &self.segments, |turn, _, segment, row| {
            let at = Some(segment.column::<i64>(Section::Valid)[row]);
            let times = segment
                .windows(row)
                .map(|(start, end)| (open(start, OPEN_START), open(end, NO_TIME)));
            dates[turn] = date_match(std::iter::once((at, at)).chain(times), &windows);
        });
        let most = largest_of(&dates);
        self.dates_met = most > 0.0;
        if weighs {
            scorer.maxima[Signal::Date] = Some(most);
            self.date = dates;
        }
    }
}

/// Terms that follow from the code of a text, each with the kind of question it is about; 0 = any.
pub(super) const TEXT_SIGNALS: [(Signal, u8); 7] = [
    (Signal::Role, 0),
    (Signal::When, question_kind::WHEN),
    (Signal::FormQuestion, 0),
    (Signal::FormFirst, 0),
    (Signal::ReplyQuestion, 0),
    (Signal::AnswerTypeNumber, question_kind::NUMBER),
    (Signal::AnswerTypeName, question_kind::NAME),
];

pub(super) fn text_value(signal: Signal, kind: u16) -> f64 {
    let part = |shift: u32, most: f64| f64::from(kind >> shift & 3) / most;
    let flag = match signal {
        Signal::When => return part(flag::TIMES, 2.0),
        Signal::AnswerTypeName => return part(flag::NAMES, 3.0),
        Signal::Role => flag::USER,
        Signal::FormQuestion => flag::QUESTION,
        Signal::FormFirst => flag::FIRST_TURN,
        Signal::ReplyQuestion => flag::REPLIES,
        _ => flag::NUMBER,
    };
    f64::from(kind & flag != 0)
}

/// ln(1 + n).
pub(super) fn length_value(length: u16) -> f64 {
    math::ln(1.0 + f64::from(length))
}

/// `length_value` of every length, computed once for the process.
pub(super) fn length_values() -> &'static [f64; LENGTHS] {
    static VALUES: OnceLock<[f64; LENGTHS]> = OnceLock::new();
    VALUES.get_or_init(|| std::array::from_fn(|length| length_value(length as u16)))
}
