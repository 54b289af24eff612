//! Signals of all eligible rows beside words and cosine: dates, replies, and what the texts alone
//! say; then what S is made of before the cosine.

use std::collections::BTreeMap;

use super::analysed_query::Query;
use super::ranking::{Base, KINDS, Weights, kind};
use super::score_table::ScoreTable;
use super::segment_columns::SegmentColumns;
use super::segment_columns::TermStatistics;
use super::signal::{Signal, Source};
use super::text_values::asks;
use super::turn_index::{NONE, TurnIndex};
use super::window_words::score_windows;
use crate::kernels::author_names::{MentionedNames, folded};
use crate::kernels::bits::set_bits;
use crate::kernels::dates::{MET, OwnTimes, date_match, in_years};
use crate::kernels::temporal::Window;
use crate::segment::format::Section;
use crate::segment::{NO_STRING, NO_TIME, OPEN_START, Segment};

/// Windows of the dates of a query, in every year of an eligible memory where no year is named.
fn windows_of(parts: &[SegmentColumns<'_>], query: &Query, seated: bool) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for date in &query.dates {
        match *date {
            (Some(start), Some(end), true) => {
                let index = TurnIndex::of_parts(parts, seated);
                windows.extend(in_years((start, end), index.years(parts)));
            }
            (start, end, _) => windows.push((start, end)),
        }
    }
    windows
}

/// How well a memory meets these windows.
fn date_value(segment: &Segment, row: usize, windows: &[Window]) -> f64 {
    let open = |time: i64, none: i64| (time != none).then_some(time);
    let dated = !segment.attributes(row).undated;
    // What stored it is the first event of a memory, and says when its text was written.
    let written = || Some(segment.events(row).next()?.occurred);
    let own = OwnTimes {
        stated: segment
            .windows(row)
            .map(|(start, end)| (open(start, OPEN_START), open(end, NO_TIME))),
        happened: dated.then(|| segment.column::<i64>(Section::Valid)[row]),
        written: dated.then(written).flatten(),
    };
    date_match(own, windows)
}

/// Returns whether an eligible memory meets a date of the query.
pub(super) fn meets_dates(parts: &[SegmentColumns<'_>], query: &Query, seated: bool) -> bool {
    if query.dates.is_empty() {
        return false;
    }
    let windows = windows_of(parts, query, seated);
    let meets = |segment: &Segment, row: usize| date_value(segment, row, &windows) >= MET;
    let any = |one: &SegmentColumns<'_>| set_bits(&one.eligible).any(|row| meets(one.segment, row));
    parts.iter().any(any)
}

/// Fills in `date`; whether an eligible memory meets a date of the query.
pub(super) fn fill_dates(table: &mut ScoreTable<'_>, query: &Query) -> bool {
    let ranking = table.scorer.ranking;
    if query.dates.is_empty() || ranking.base != Base::Linear {
        return false;
    }
    let windows = windows_of(&table.parts, query, ranking.sittings);
    let mut met = false;
    for columns in table.parts.iter_mut().filter(|one| one.any_eligible) {
        let segment = columns.segment;
        let mut dates = vec![0.0; segment.memory_rows()];
        for row in set_bits(&columns.eligible) {
            dates[row] = date_value(segment, row, &windows);
            met |= dates[row] >= MET;
        }
        columns.values[Signal::Date] = dates;
    }
    table.known[Signal::Date] = true;
    met
}

/// Fills in `reply`: the words of a question before each turn.
pub(super) fn fill_replies(table: &mut ScoreTable<'_>) {
    if !table.scorer.ranking.weighs(Signal::Reply) {
        return;
    }
    table.known[Signal::Reply] = true;
    let any_words = |columns: &SegmentColumns<'_>| !columns.words.is_empty();
    if !table.parts.iter().any(any_words) {
        return;
    }
    let index = TurnIndex::of_parts(&table.parts, table.scorer.ranking.sittings);
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); table.parts.len()];
    for (part, columns) in table.parts.iter().enumerate() {
        let features = columns.segment.column::<u32>(Section::Features);
        for (row, (words, features)) in columns.words.iter().zip(features).enumerate() {
            if *words <= 0.0 || !asks(*features) {
                continue;
            }
            for turn in index.beside(index.turn(part, row), 1) {
                let (part, row) = index.row(turn);
                let segment = table.parts[part].segment;
                let column = &mut found[part];
                column.resize(segment.memory_rows(), 0.0);
                column[row] = column[row].max(*words);
            }
        }
    }
    for (columns, replies) in table.parts.iter_mut().zip(found) {
        columns.values[Signal::Reply] = replies;
    }
}

/// Fills in `words`: those of each memory with the turns around it.
pub(super) fn fill_words_window(table: &mut ScoreTable<'_>, statistics: &TermStatistics) {
    let ranking = table.scorer.ranking;
    if !ranking.weighs(Signal::Words) || statistics.numbers.is_empty() {
        return;
    }
    let index = TurnIndex::of_parts(&table.parts, ranking.sittings);
    let segments: Vec<&Segment> = table.parts.iter().map(|columns| columns.segment).collect();
    let scores = score_windows(&index, &segments, &statistics.numbers, &statistics.idfs);
    let whole: f64 = statistics.idfs.iter().sum();
    for (part, columns) in table.parts.iter_mut().enumerate() {
        let turns = index.turns(part).iter();
        let value = |turn: &u32| match *turn {
            NONE => 0.0,
            turn => scores[turn as usize] / whole,
        };
        columns.values[Signal::Words] = turns.map(value).collect();
    }
    table.known[Signal::Words] = true;
}

/// Fills in `person`: authors that the query names, against the only other one that it does.
pub(super) fn fill_persons(table: &mut ScoreTable<'_>, query: &Query) {
    let weighs = table.scorer.ranking.weighs(Signal::Person);
    let Some(text) = query.names_text.as_ref().filter(|_| weighs) else {
        return;
    };
    table.known[Signal::Person] = true;
    let mentioned = MentionedNames::new(text);
    // By author of an eligible row: whether the query names it.
    let mut authors: BTreeMap<&str, bool> = BTreeMap::new();
    let mut numbers: Vec<Vec<u32>> = Vec::with_capacity(table.parts.len());
    for columns in &table.parts {
        let own = authors_of(columns);
        for number in &own {
            let name = columns.segment.string(*number).unwrap_or_default();
            authors
                .entry(name)
                .or_insert_with(|| mentioned.contains(&folded(name)));
        }
        numbers.push(own);
    }
    let named = authors.values().filter(|named| **named).count();
    if named == 0 {
        return;
    }
    let other = if named == 1 { -1.0 } else { 0.0 };
    let parts = table.parts.iter_mut().zip(numbers);
    for (columns, own) in parts.filter(|(one, _)| one.any_eligible) {
        let segment = columns.segment;
        let column = segment.column::<u32>(Section::Author);
        let mut values = vec![0.0; segment.column::<u64>(Section::StringOffsets).len()];
        for number in own {
            values[number as usize] = match segment.string(number).unwrap_or_default() {
                "" => 0.0,
                name if authors.get(name) == Some(&true) => 1.0,
                _ => other,
            };
        }
        let mut persons = vec![0.0; segment.memory_rows()];
        for row in set_bits(&columns.eligible).filter(|row| column[*row] != NO_STRING) {
            persons[row] = values[column[row] as usize];
        }
        columns.values[Signal::Person] = persons;
    }
}

/// String numbers of the authors of the eligible rows, each once.
fn authors_of(columns: &SegmentColumns<'_>) -> Vec<u32> {
    let mut found = Vec::new();
    if !columns.any_eligible {
        return found;
    }
    let segment = columns.segment;
    let column = segment.column::<u32>(Section::Author);
    let mut seen = vec![false; segment.column::<u64>(Section::StringOffsets).len()];
    for row in set_bits(&columns.eligible).filter(|row| column[*row] != NO_STRING) {
        if !std::mem::replace(&mut seen[column[row] as usize], true) {
            found.push(column[row]);
        }
    }
    found
}

/// Fills in what S of every row is made of before the cosine.
pub(super) fn fill_rest(table: &mut ScoreTable<'_>) {
    let scorer = &table.scorer;
    let linear = scorer.ranking.base == Base::Linear;
    for columns in table.parts.iter_mut().filter(|one| one.any_eligible) {
        columns.rest = if linear {
            before_cosine(columns, &scorer.weights)
        } else {
            let mut rest = vec![0.0; columns.segment.memory_rows()];
            if scorer.alpha > 0.0 {
                for row in set_bits(&columns.eligible) {
                    let metadata = scorer.metadata(columns, row).unwrap_or(0.0);
                    rest[row] = scorer.alpha * metadata;
                }
            }
            rest
        };
    }
    for signal in Signal::ALL {
        if matches!(signal.source(), Source::Text(_)) {
            table.known[signal] = linear;
        }
    }
}

/// The bias, then the terms before the cosine in their order, by row.
fn before_cosine(columns: &SegmentColumns<'_>, weights: &[Weights; KINDS]) -> Vec<f64> {
    let segment = columns.segment;
    let codes = &segment.column::<[u8; 8]>(Section::Attributes)[..segment.memory_rows()];
    let features = segment.column::<u32>(Section::Features);
    let mut rest: Vec<f64> = codes
        .iter()
        .map(|codes| weights[kind(codes)].bias)
        .collect();
    for signal in Signal::BEFORE_COSINE {
        let own = weights.map(|weights| weights.signals[signal]);
        if own == [0.0; KINDS] {
            continue;
        }
        let rows = rest.iter_mut().zip(codes);
        let Source::Text(of_text) = signal.source() else {
            for ((sum, codes), value) in rows.zip(&columns.values[signal]) {
                *sum += own[kind(codes)] * value;
            }
            continue;
        };
        for ((sum, codes), features) in rows.zip(features) {
            *sum += own[kind(codes)] * of_text(*features);
        }
    }
    rest
}
