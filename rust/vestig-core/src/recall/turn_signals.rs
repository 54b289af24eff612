//! The signals that follow from sessions, texts and dates, by turn.
//!
//! Of every turn there are bounds of L₁ without what few rows have; exact raw values are made for
//! the rows that can reach the pool.

use std::borrow::Cow;
use std::sync::Arc;

use super::analysed_query::Query;
use super::evidence::Evidence;
use super::neighbour_vectors::{self, Bounds, NeighbourUnit, NeighbourVectors};
use super::question_words;
use super::score_bounds::{SLACK, ScoreBounds, TurnValues};
use super::scorer::Scorer;
use super::segment_columns::{SegmentColumns, SparseRow, TermStatistics};
use super::signal::{BySignal, Signal};
use super::text_flags::{TextFlags, flag};
use super::text_signals::{TEXT_SIGNALS, length_value, length_values, text_value};
use super::topic::Topic;
use super::turn_columns::{Largest, beside, by_turn, largest, largest_of};
use super::turn_index::{NONE, TurnIndex};
use super::window_words::{SHAPES, score_windows};
use crate::kernels::bits::has;
use crate::segment::Segment;

/// Terms of windows, by shape.
const WINDOWS: [Signal; SHAPES.len()] = [
    Signal::ContextWords,
    Signal::ContextSoft,
    Signal::ContextWide,
];

/// Values by turn; empty columns are all 0.
pub(super) struct TurnSignals<'a> {
    pub(super) index: Arc<TurnIndex>,
    pub(super) segments: Vec<&'a Segment>,
    lexical: Vec<f64>,
    windows: [Vec<f64>; SHAPES.len()],
    /// BM25 in the questions that memories answer.
    questions: Vec<f64>,
    pub(super) date: Vec<f64>,
    /// Whether an eligible memory meets a date of the query, where something depends on it.
    pub(super) dates_met: bool,
    /// Cosines with the topic of the query.
    pub(super) topic: Option<Topic>,
    /// BM25 of the content terms.
    pub(super) topic_lexical: Vec<f64>,
    /// Neighbouring content terms.
    pub(super) bigram: Vec<f64>,
    /// Value of every author.
    pub(super) author_values: Vec<f64>,
    pub(super) question_kinds: u8,
    context: Option<NeighbourVectors<'a>>,
    /// Of L₁ without what few rows have.
    pub(super) bounds: Bounds,
}

/// Changes the bounds of a level as the level itself changes; `added`: what that adds.
fn change_bounds((low, high): (&mut f64, &mut f64), change: impl Fn(f64) -> f64, added: f64) {
    // Far above the roundings of both.
    *low = change(*low);
    *low -= (low.abs() + added.abs()) * SLACK;
    *high = change(*high);
    *high += (high.abs() + added.abs()) * SLACK;
}

/// Whether any of the signals that are made by turn weighs something.
pub(super) fn any_weighed(scorer: &Scorer<'_>) -> bool {
    let mut signals = Signal::ALL.into_iter().filter(|signal| signal.is_by_turn());
    signals.any(|signal| scorer.weighs(signal))
}

impl<'a> TurnSignals<'a> {
    /// Fills in the columns and the maxima of the signals.
    pub(super) fn new(
        parts: &[SegmentColumns<'a>],
        scorer: &mut Scorer<'_>,
        query: &Query,
        statistics: &TermStatistics,
    ) -> Self {
        let segments: Vec<&Segment> = parts.iter().map(|columns| columns.segment).collect();
        let index = TurnIndex::of_parts(parts, scorer);
        let mut signals = Self {
            lexical: Vec::new(),
            windows: Default::default(),
            questions: Vec::new(),
            date: Vec::new(),
            dates_met: false,
            topic: None,
            topic_lexical: Vec::new(),
            bigram: Vec::new(),
            author_values: Vec::new(),
            question_kinds: query.question_kinds,
            context: None,
            bounds: Bounds {
                low: Vec::new(),
                high: Vec::new(),
            },
            segments,
            index,
        };
        signals.fill_words(parts, scorer, statistics);
        signals.fill_questions(scorer, query);
        signals.fill_texts(scorer);
        signals.fill_authors(scorer, query);
        signals.fill_dates(scorer, query);
        let cosines = signals.cosines(parts, scorer);
        signals.fill_content(parts, scorer, query, statistics, &cosines);
        signals.fill_bounds(parts, scorer, &cosines);
        signals
    }

    /// Whether the query's own vector stands for its topic; None where nothing is compared with it.
    pub(super) fn topic_of_query(&self) -> Option<bool> {
        self.topic.as_ref().map(|topic| topic.of_query)
    }

    pub(super) fn text_flags(&self) -> &TextFlags {
        self.index.text_flags(&self.segments)
    }

    fn holds(&self, turn: usize, flag: u16) -> bool {
        self.text_flags().codes[turn] & flag != 0
    }

    fn fill_words(
        &mut self,
        parts: &[SegmentColumns<'_>],
        scorer: &mut Scorer<'_>,
        statistics: &TermStatistics,
    ) {
        let terms = &statistics.numbers;
        if terms.is_empty() {
            return;
        }
        self.lexical = by_turn(&self.index, |part| &parts[part].lexical);
        let wanted = WINDOWS.map(|signal| scorer.weighs(signal));
        self.windows = score_windows(&self.index, &self.segments, terms, wanted);
        for (at, signal) in WINDOWS
            .into_iter()
            .enumerate()
            .filter(|(at, _)| wanted[*at])
        {
            scorer.maxima[signal] = Some(largest_of(&self.windows[at]));
        }
        let most = scorer.maxima[Signal::Lexical].unwrap_or(0.0);
        let near = Largest::of(&self.index, &self.lexical);
        for (signal, offset) in Signal::NEIGHBOURS_LEXICAL {
            if scorer.weighs(signal) {
                let value = near.beside(offset);
                scorer.maxima[signal] = Some(Scorer::normalised(value, most));
            }
        }
        if scorer.weighs(Signal::ReplyLexical) {
            let value = Scorer::normalised(self.largest_reply(), most);
            scorer.maxima[Signal::ReplyLexical] = Some(value);
        }
    }

    fn fill_questions(&mut self, scorer: &mut Scorer<'_>, query: &Query) {
        let given = query.terms.as_ref().zip(query.questions.as_ref());
        let Some((terms, words)) = given.filter(|_| scorer.weighs(Signal::Questions)) else {
            return;
        };
        self.questions = question_words::score(&self.index, &self.segments, terms, words);
        scorer.maxima[Signal::Questions] = Some(largest(self.questions.iter().copied()));
    }

    /// Cosines with the query by turn; 0 without a vector of the query.
    fn cosines(&self, parts: &[SegmentColumns<'_>], scorer: &Scorer<'_>) -> Bounds {
        let nothing = || vec![0.0; self.index.len()];
        let (mut low, mut high) = (nothing(), nothing());
        if scorer.vector.is_empty() {
            return Bounds { low, high };
        }
        for (part, columns) in parts.iter().enumerate() {
            let turns = self.index.turns(part).iter().enumerate();
            let turns = turns.filter(|(_, turn)| **turn != NONE);
            for (row, turn) in turns {
                let turn = *turn as usize;
                (low[turn], high[turn]) = columns.similarity.bounds(row);
            }
        }
        for (turn, sparse) in self.with_questions(parts) {
            (low[turn], high[turn]) = (sparse.content, sparse.content);
        }
        Bounds { low, high }
    }

    /// Eligible memories with stored questions, by turn.
    fn with_questions<'s>(
        &'s self,
        parts: &'s [SegmentColumns<'_>],
    ) -> impl Iterator<Item = (usize, &'s SparseRow)> {
        parts.iter().enumerate().flat_map(move |(part, columns)| {
            let asked = columns.sparse.iter().filter(|sparse| {
                sparse.question.is_some() && has(&columns.eligible, sparse.row as usize)
            });
            asked.map(move |sparse| (self.index.turn(part, sparse.row as usize), sparse))
        })
    }

    /// What is made of cosines, then the bounds of L₁.
    fn fill_bounds(
        &mut self,
        parts: &[SegmentColumns<'a>],
        scorer: &mut Scorer<'_>,
        cosines: &Bounds,
    ) {
        let embedded = !scorer.vector.is_empty();
        let mut semantic = Cow::Borrowed(cosines);
        for (turn, sparse) in self.with_questions(parts) {
            let value = scorer.semantic_of(sparse.content, sparse.question);
            let semantic = semantic.to_mut();
            (semantic.low[turn], semantic.high[turn]) = (value, value);
        }
        let mut near = None;
        if embedded && scorer.weighs(Signal::ContextVector) {
            let context = NeighbourVectors::new(&self.segments, &scorer.vector);
            let bounds = neighbour_vectors::bounds(&self.index, &self.segments, cosines);
            scorer.maxima[Signal::ContextVector] = Some(context.most(&self.index, &bounds));
            self.context = Some(context);
            near = Some(bounds);
        }
        self.bounds = self.bounds(parts, scorer, &semantic, near.as_ref());
    }

    /// Adds this to the bounds, by origin.
    pub(super) fn add(&mut self, sums: [f64; 4]) {
        let codes = &self.index.text_flags(&self.segments).codes;
        let Bounds { low, high } = &mut self.bounds;
        for ((low, high), code) in low.iter_mut().zip(high).zip(codes) {
            let sum = sums[usize::from(code & flag::ORIGIN)];
            change_bounds((low, high), |level| level + sum, sum);
        }
    }

    /// Puts the bounds on the scale of all origins.
    pub(super) fn apply(&mut self, evidence: &Evidence) {
        let Bounds { low, high } = &mut self.bounds;
        for bounds in low.iter_mut().zip(high) {
            change_bounds(bounds, |level| evidence.apply(level), evidence.sum);
        }
    }

    fn largest_reply(&self) -> f64 {
        if !self.index.single() {
            return largest((0..self.index.len()).map(|turn| self.reply(turn)));
        }
        // A reply has a turn before it.
        let codes = self.text_flags().codes.iter().skip(1);
        codes.zip(&self.lexical).fold(0.0, |most, (code, before)| {
            if code & flag::REPLIES != 0 && *before > most {
                *before
            } else {
                most
            }
        })
    }

    fn reply(&self, turn: usize) -> f64 {
        if self.holds(turn, flag::REPLIES) {
            beside(&self.index, &self.lexical, turn, -1)
        } else {
            0.0
        }
    }

    fn bounds(
        &self,
        parts: &[SegmentColumns<'_>],
        scorer: &Scorer<'_>,
        semantic: &Bounds,
        near: Option<&Bounds>,
    ) -> Bounds {
        let (text_flags, index) = (self.text_flags(), &*self.index);
        let dense = Signal::DENSE.into_iter().enumerate();
        let dense: Vec<(Signal, Vec<f64>)> = dense
            .filter(|(_, signal)| scorer.counts(*signal))
            .map(|(at, signal)| (signal, by_turn(index, |part| &parts[part].dense[at])))
            .collect();
        let mut sums = ScoreBounds::new(scorer, index, text_flags);
        sums.add_text_flags(|kind| {
            let of = |(signal, _)| (signal, text_value(signal, kind));
            TEXT_SIGNALS.map(of)
        });
        for (at, signal) in WINDOWS.into_iter().enumerate() {
            sums.add(signal, 1.0, TurnValues::Column(&self.windows[at]));
        }
        sums.add(Signal::Lexical, 1.0, TurnValues::Column(&self.lexical));
        let content = TurnValues::Column(&self.topic_lexical);
        sums.add(Signal::TopicLexical, 1.0, content);
        sums.add(Signal::Bigram, 1.0, TurnValues::Column(&self.bigram));
        let unit = sums.inverse(Signal::Lexical);
        for (signal, offset) in Signal::NEIGHBOURS_LEXICAL {
            let near = if index.single() {
                TurnValues::Neighbour(&self.lexical, offset)
            } else {
                let of = move |turn| beside(index, &self.lexical, turn, offset);
                TurnValues::Each(Box::new(of))
            };
            sums.add(signal, unit, near);
        }
        let replies = if index.single() {
            TurnValues::Reply(&self.lexical)
        } else {
            TurnValues::Each(Box::new(|turn| self.reply(turn)))
        };
        sums.add(Signal::ReplyLexical, unit, replies);
        if !self.questions.is_empty() {
            sums.add(Signal::Questions, 1.0, TurnValues::Column(&self.questions));
        }
        if !self.author_values.is_empty() {
            sums.add(Signal::Person, 1.0, self.by_author());
        }
        sums.add(Signal::Date, 1.0, TurnValues::Column(&self.date));
        let lengths = TurnValues::Lengths(length_values(), &text_flags.lengths);
        sums.add(Signal::FormLength, 1.0, lengths);
        for (signal, values) in &dense {
            sums.add(*signal, 1.0, TurnValues::Column(values));
        }
        sums.into_bounds(&[
            (Signal::Cosine, Some(semantic)),
            (Signal::ContextVector, near),
            (
                Signal::Topic,
                self.topic.as_ref().map(|topic| &topic.bounds),
            ),
        ])
    }

    /// The turn of a row, where its vector with its neighbours is compared.
    pub(super) fn compared_with_neighbours(
        &self,
        part: usize,
        row: usize,
    ) -> Option<(Arc<TurnIndex>, usize)> {
        self.context.as_ref()?;
        Some((Arc::clone(&self.index), self.index.turn(part, row)))
    }

    /// Compares the query with unit vectors that several queries share.
    pub(super) fn reuse(&self, units: &[NeighbourUnit]) {
        if let Some(context) = &self.context {
            context.reuse(units.iter().filter(|near| near.is_of(&self.index)));
        }
    }

    /// Makes what of distinct turns takes less time together than one by one.
    pub(super) fn prepare(&self, turns: impl Iterator<Item = usize>) {
        if let Some(context) = &self.context {
            context.make(&self.index, turns);
        }
    }

    /// Raw values of a row, for the signals that have a maximum.
    pub(super) fn fill_raw(&self, scorer: &Scorer<'_>, turn: usize, raw: &mut BySignal<f64>) {
        let maxima = &scorer.maxima;
        let mut set = |signal: Signal, value: &dyn Fn() -> f64| {
            if maxima[signal].is_some() {
                raw[signal] = value();
            }
        };
        let kind = self.text_flags().codes[turn];
        for (signal, _) in TEXT_SIGNALS {
            set(signal, &|| text_value(signal, kind));
        }
        for (at, signal) in WINDOWS.into_iter().enumerate() {
            set(signal, &|| self.windows[at][turn]);
        }
        if let Some(context) = &self.context {
            set(Signal::ContextVector, &|| context.of(&self.index, turn));
        }
        let most = maxima[Signal::Lexical].unwrap_or(0.0);
        for (signal, offset) in Signal::NEIGHBOURS_LEXICAL {
            set(signal, &|| {
                let value = beside(&self.index, &self.lexical, turn, offset);
                Scorer::normalised(value, most)
            });
        }
        set(Signal::ReplyLexical, &|| {
            Scorer::normalised(self.reply(turn), most)
        });
        if let Some(topic) = &self.topic {
            set(Signal::Topic, &|| {
                topic.of(&self.index, &self.segments, turn)
            });
        }
        set(Signal::TopicLexical, &|| self.topic_lexical[turn]);
        set(Signal::Bigram, &|| self.bigram[turn]);
        set(Signal::Questions, &|| self.questions[turn]);
        set(Signal::Person, &|| self.person(turn));
        set(Signal::Date, &|| self.date[turn]);
        set(Signal::FormLength, &|| {
            length_value(self.text_flags().lengths[turn])
        });
    }
}
