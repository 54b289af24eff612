//! The terms that sessions, texts and dates give (Q-11 … … Q-27), by slot.
//!
//! Of every slot there are bounds of L₁ without what few rows have; exact raw values are made for
//! the rows that can reach the pool.

use std::borrow::Cow;
use std::sync::Arc;

use super::neighbour_vectors::{self, Bounds, Context};
use super::question_words;
use super::score_bounds::{Level, Values};
use super::scorer::{Scorer, weighs};
use super::segment_columns::Field;
use super::signal::{BySignal, Signal};
use super::text_flags::{Facts, fact};
use super::text_signals::{OF_TEXTS, of_length, of_text};
use super::turn_columns::{Largest, beside, by_slot, largest, largest_of};
use super::turn_index::{NONE, Places, places};
use super::types::{Query, Ranking};
use super::window_words::{SHAPES, score};
use crate::kernels::bits::has;
use crate::segment::Segment;

/// Terms of windows, by shape.
const WINDOWS: [Signal; SHAPES.len()] = [
    Signal::ContextWords,
    Signal::ContextSoft,
    Signal::ContextWide,
];

/// Values by slot; empty columns are all 0.
pub(super) struct Signals<'a> {
    pub(super) places: Arc<Places>,
    pub(super) segments: Vec<&'a Segment>,
    lexical: Vec<f64>,
    /// S_query, where a term is made of that of neighbours.
    semantic: Vec<f64>,
    windows: [Vec<f64>; SHAPES.len()],
    ///
    questions: Vec<f64>,
    pub(super) date: Vec<f64>,
    /// Value of every author.
    pub(super) people: Vec<f64>,
    pub(super) asks: u8,
    context: Option<Context<'a>>,
    /// Of L₁ without what few rows have.
    pub(super) level: Bounds,
}

/// Whether any of the terms that are made by slot weighs something.
pub(super) fn wanted(scorer: &Scorer<'_>) -> bool {
    let mut signals = Signal::ALL.into_iter().filter(|signal| signal.is_by_turn());
    signals.any(|signal| scorer.weighs(signal))
}

/// Whether a term is made of the cosines of neighbours.
pub(super) fn by_cosines(ranking: &Ranking, origins: [bool; 4]) -> bool {
    let neighbours = Signal::NEIGHBOURS_COSINE.map(|(signal, _)| signal);
    let mut terms = neighbours.into_iter().chain([Signal::AnswerCosine]);
    terms.any(|at| weighs(ranking, origins, at))
}

impl<'a> Signals<'a> {
    /// Fills in the columns and the maxima of the terms.
    pub(super) fn new(fields: &[Field<'a>], scorer: &mut Scorer<'_>, query: &Query) -> Self {
        let segments: Vec<&Segment> = fields.iter().map(|field| field.segment).collect();
        let eligible: Vec<_> = fields.iter().map(|field| &field.eligible).collect();
        let places = places(&segments, &eligible);
        let mut signals = Self {
            lexical: Vec::new(),
            semantic: Vec::new(),
            windows: Default::default(),
            questions: Vec::new(),
            date: Vec::new(),
            people: Vec::new(),
            asks: query.asks,
            context: None,
            level: Bounds {
                low: Vec::new(),
                high: Vec::new(),
            },
            segments,
            places,
        };
        signals.fill_words(fields, scorer, query);
        signals.fill_questions(scorer, query);
        signals.fill_texts(scorer);
        signals.fill_people(scorer, query);
        signals.fill_dates(scorer, query);
        signals.fill_level(fields, scorer);
        signals
    }

    pub(super) fn facts(&self) -> &Facts {
        self.places.facts(&self.segments)
    }

    pub(super) fn holds(&self, slot: usize, flag: u16) -> bool {
        self.facts().codes[slot] & flag != 0
    }

    fn fill_words(&mut self, fields: &[Field<'_>], scorer: &mut Scorer<'_>, query: &Query) {
        let Some(terms) = query.terms.as_ref().filter(|terms| !terms.is_empty()) else {
            return;
        };
        self.lexical = by_slot(&self.places, |part| &fields[part].lexical);
        let wanted = WINDOWS.map(|term| scorer.weighs(term));
        self.windows = score(&self.places, &self.segments, terms, wanted);
        for (at, term) in WINDOWS
            .into_iter()
            .enumerate()
            .filter(|(at, _)| wanted[*at])
        {
            scorer.maxima[term] = Some(largest_of(&self.windows[at]));
        }
        let most = scorer.maxima[Signal::Lexical].unwrap_or(0.0);
        let near = Largest::of(&self.places, &self.lexical);
        for (term, offset) in Signal::NEIGHBOURS_LEXICAL {
            if scorer.weighs(term) {
                let value = near.beside(offset);
                scorer.maxima[term] = Some(Scorer::normalised(value, most));
            }
        }
        for term in [Signal::AnswerLexical, Signal::ReplyLexical] {
            if scorer.weighs(term) {
                let slots = 0..self.places.len();
                let value = match term {
                    Signal::AnswerLexical => {
                        largest(slots.map(|slot| self.answer(&self.lexical, slot)))
                    }
                    _ => self.largest_reply(),
                };
                scorer.maxima[term] = Some(Scorer::normalised(value, most));
            }
        }
    }

    fn fill_questions(&mut self, scorer: &mut Scorer<'_>, query: &Query) {
        let given = query.terms.as_ref().zip(query.questions.as_ref());
        let Some((terms, words)) = given.filter(|_| scorer.weighs(Signal::Questions)) else {
            return;
        };
        self.questions = question_words::score(&self.places, &self.segments, terms, words);
        scorer.maxima[Signal::Questions] = Some(largest(self.questions.iter().copied()));
    }

    /// What is made of cosines, then the bounds of L₁.
    fn fill_level(&mut self, fields: &[Field<'a>], scorer: &mut Scorer<'_>) {
        let nothing = || vec![0.0; self.places.len()];
        let mut cosines = Bounds {
            low: nothing(),
            high: nothing(),
        };
        let embedded = !scorer.vector.is_empty();
        if embedded {
            for (part, field) in fields.iter().enumerate() {
                for (row, slot) in self.places.slots(part).iter().enumerate() {
                    if *slot != NONE {
                        let slot = *slot as usize;
                        (cosines.low[slot], cosines.high[slot]) = field.similarity.bounds(row);
                    }
                }
                for special in field.special.iter().filter(|s| s.question.is_some()) {
                    if has(&field.eligible, special.row as usize) {
                        let slot = self.places.slot(part, special.row as usize);
                        let content = special.content;
                        (cosines.low[slot], cosines.high[slot]) = (content, content);
                    }
                }
            }
        }
        let mut semantic = Cow::Borrowed(&cosines);
        for (part, field) in fields.iter().enumerate() {
            for special in field.special.iter().filter(|s| s.question.is_some()) {
                let row = special.row as usize;
                if has(&field.eligible, row) {
                    let slot = self.places.slot(part, row);
                    let value = scorer.semantic_of(special.content, special.question);
                    let semantic = semantic.to_mut();
                    (semantic.low[slot], semantic.high[slot]) = (value, value);
                }
            }
        }
        if embedded && by_cosines(scorer.ranking, scorer.origins) {
            self.semantic.clone_from(&semantic.low);
            self.fill_cosines(scorer);
        }
        let mut near = None;
        if embedded && scorer.weighs(Signal::ContextVector) {
            let context = Context::new(&self.segments, &scorer.vector);
            let bounds = neighbour_vectors::bounds(&self.places, &self.segments, &cosines);
            scorer.maxima[Signal::ContextVector] = Some(context.most(&self.places, &bounds));
            self.context = Some(context);
            near = Some(bounds);
        }
        self.level = self.bounds(fields, scorer, &semantic, near.as_ref());
    }

    fn fill_cosines(&self, scorer: &mut Scorer<'_>) {
        let most = scorer.maxima[Signal::Cosine].unwrap_or(0.0);
        let near = Largest::of(&self.places, &self.semantic);
        for (term, offset) in Signal::NEIGHBOURS_COSINE {
            if scorer.weighs(term) {
                let value = near.beside(offset);
                scorer.maxima[term] = Some(Scorer::normalised(value, most));
            }
        }
        if scorer.weighs(Signal::AnswerCosine) {
            let slots = 0..self.places.len();
            let value = largest(slots.map(|slot| self.answer(&self.semantic, slot)));
            scorer.maxima[Signal::AnswerCosine] = Some(Scorer::normalised(value, most));
        }
    }

    /// The largest value of the next memory's parts that the assistant said, at least 0.
    fn answer(&self, values: &[f64], slot: usize) -> f64 {
        let next = self.places.beside(slot, 1);
        let said = next.filter(|at| self.holds(*at, fact::ASSISTANT));
        largest(said.map(|at| values[at]))
    }

    fn largest_reply(&self) -> f64 {
        if !self.places.single() {
            return largest((0..self.places.len()).map(|slot| self.reply(slot)));
        }
        // Who answers stands behind another.
        let codes = self.facts().codes.iter().skip(1);
        codes.zip(&self.lexical).fold(0.0, |most, (code, before)| {
            if code & fact::ANSWERS != 0 && *before > most {
                *before
            } else {
                most
            }
        })
    }

    fn reply(&self, slot: usize) -> f64 {
        if self.holds(slot, fact::ANSWERS) {
            beside(&self.places, &self.lexical, slot, -1)
        } else {
            0.0
        }
    }

    fn bounds(
        &self,
        fields: &[Field<'_>],
        scorer: &Scorer<'_>,
        semantic: &Bounds,
        near: Option<&Bounds>,
    ) -> Bounds {
        let (facts, places) = (self.facts(), &*self.places);
        let mut level = Level::new(scorer, places, facts);
        level.add_kinds(|kind| {
            let of = |(term, _)| (term, of_text(term, kind));
            OF_TEXTS.map(of)
        });
        for (at, term) in WINDOWS.into_iter().enumerate() {
            level.add(term, 1.0, Values::Column(&self.windows[at]));
        }
        level.add(Signal::Lexical, 1.0, Values::Column(&self.lexical));
        for (terms, values, of) in [
            (Signal::NEIGHBOURS_LEXICAL, &self.lexical, Signal::Lexical),
            (Signal::NEIGHBOURS_COSINE, &self.semantic, Signal::Cosine),
        ] {
            for (term, offset) in terms {
                let unit = level.inverse(of);
                let near = if places.single() {
                    Values::Beside(values, offset)
                } else {
                    Values::Each(Box::new(move |slot| beside(places, values, slot, offset)))
                };
                level.add(term, unit, near);
            }
        }
        let (words, cosines) = (
            level.inverse(Signal::Lexical),
            level.inverse(Signal::Cosine),
        );
        for (term, unit, values) in [
            (Signal::AnswerLexical, words, &self.lexical),
            (Signal::AnswerCosine, cosines, &self.semantic),
        ] {
            let of = Box::new(move |slot| self.answer(values, slot));
            level.add(term, unit, Values::Each(of));
        }
        let replies = if places.single() {
            Values::Reply(&self.lexical)
        } else {
            Values::Each(Box::new(|slot| self.reply(slot)))
        };
        level.add(Signal::ReplyLexical, words, replies);
        if !self.questions.is_empty() {
            level.add(Signal::Questions, 1.0, Values::Column(&self.questions));
        }
        if !self.people.is_empty() {
            level.add(Signal::Person, 1.0, self.by_author());
            let of = Box::new(|slot| self.first_person(slot));
            level.add(Signal::FirstPersonPerson, 1.0, Values::Each(of));
        }
        level.add(Signal::Date, 1.0, Values::Column(&self.date));
        if level.weighs(Signal::FormLength) {
            let of: Vec<f64> = (0..1 << 11).map(of_length).collect();
            let of = Box::new(move |slot: usize| of[usize::from(facts.lengths[slot])]);
            level.add(Signal::FormLength, 1.0, Values::Each(of));
        }
        let dense = Signal::DENSE.into_iter().enumerate();
        let dense: Vec<(Signal, Vec<f64>)> = dense
            .filter(|(_, term)| level.weighs(*term))
            .map(|(at, term)| (term, by_slot(places, |part| &fields[part].dense[at])))
            .collect();
        for (term, values) in dense {
            let of = Box::new(move |slot: usize| values[slot]);
            level.add(term, 1.0, Values::Each(of));
        }
        level.into_bounds(&[
            (Signal::Cosine, Some(semantic)),
            (Signal::ContextVector, near),
        ])
    }

    /// Raw values of a row, for the terms that have a maximum.
    pub(super) fn fill_raw(&self, scorer: &Scorer<'_>, slot: usize, raw: &mut BySignal<f64>) {
        let maxima = &scorer.maxima;
        let most = |term: Signal| maxima[term].unwrap_or(0.0);
        let mut set = |term: Signal, value: &dyn Fn() -> f64| {
            if maxima[term].is_some() {
                raw[term] = value();
            }
        };
        let kind = self.facts().codes[slot];
        for (term, _) in OF_TEXTS {
            set(term, &|| of_text(term, kind));
        }
        for (at, term) in WINDOWS.into_iter().enumerate() {
            set(term, &|| self.windows[at][slot]);
        }
        if let Some(context) = &self.context {
            set(Signal::ContextVector, &|| context.of(&self.places, slot));
        }
        for (terms, values, of) in [
            (Signal::NEIGHBOURS_LEXICAL, &self.lexical, Signal::Lexical),
            (Signal::NEIGHBOURS_COSINE, &self.semantic, Signal::Cosine),
        ] {
            for (term, offset) in terms {
                set(term, &|| {
                    let value = beside(&self.places, values, slot, offset);
                    Scorer::normalised(value, most(of))
                });
            }
        }
        let words = |value| Scorer::normalised(value, most(Signal::Lexical));
        set(Signal::AnswerLexical, &|| {
            words(self.answer(&self.lexical, slot))
        });
        set(Signal::ReplyLexical, &|| words(self.reply(slot)));
        set(Signal::AnswerCosine, &|| {
            Scorer::normalised(self.answer(&self.semantic, slot), most(Signal::Cosine))
        });
        set(Signal::Questions, &|| self.questions[slot]);
        set(Signal::Person, &|| self.person(slot));
        set(Signal::FirstPersonPerson, &|| self.first_person(slot));
        set(Signal::Date, &|| self.date[slot]);
        set(Signal::FormLength, &|| {
            of_length(self.facts().lengths[slot])
        });
    }
}
