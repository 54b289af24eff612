//! The terms that sessions, texts and dates give (Q-11 … … Q-27), by slot.
//!
//! Of every slot there are bounds of L₁ without what few rows have; exact raw values are made for
//! the rows that can reach the pool.

use std::borrow::Cow;
use std::sync::Arc;

use super::context::{self, Bounds, Context};
use super::facts::{Facts, each_row, fact};
use super::fields::Field;
use super::level::Level;
use super::scorer::{Scorer, weighs};
use super::sessions::{Places, places};
use super::term::{self, OFFSETS, TERMS};
use super::texts::{OF_TEXTS, of_length, of_text};
use super::types::{Query, Ranking};
use super::windows::{SHAPES, score};
use crate::segment::Segment;
use crate::snapshot::has;

/// Terms of windows, by shape.
const WINDOWS: [usize; SHAPES.len()] =
    [term::CONTEXT_WORDS, term::CONTEXT_SOFT, term::CONTEXT_WIDE];

/// Values by slot; empty columns are all 0.
pub(super) struct Signals<'a> {
    pub(super) places: Arc<Places>,
    pub(super) segments: Vec<&'a Segment>,
    lexical: Vec<f64>,
    /// S_query, where a term is made of that of neighbours.
    semantic: Vec<f64>,
    windows: [Vec<f64>; SHAPES.len()],
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
    (term::CONTEXT_WORDS..=term::FIRST_PERSON_PERSON)
        .any(|at| at != term::REPLY_LATE && scorer.weighs(at))
}

/// Whether a term is made of the cosines of neighbours.
pub(super) fn by_cosines(ranking: &Ranking, origins: [bool; 4]) -> bool {
    let neighbours = term::NEIGHBOURS_COSINE..term::NEIGHBOURS_COSINE + OFFSETS.len();
    let mut terms = neighbours.chain([term::ANSWER_COSINE]);
    terms.any(|at| weighs(ranking, origins, at))
}

pub(super) fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
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
        let mut lexical = vec![0.0; self.places.len()];
        each_row(&self.places, &self.segments, |slot, part, _, row| {
            lexical[slot] = fields[part].lexical(row);
        });
        self.lexical = lexical;
        let wanted = WINDOWS.map(|term| scorer.weighs(term));
        self.windows = score(&self.places, &self.segments, terms, wanted);
        for (at, term) in WINDOWS
            .into_iter()
            .enumerate()
            .filter(|(at, _)| wanted[*at])
        {
            scorer.maxima[term] = Some(largest(self.windows[at].iter().copied()));
        }
        let most = scorer.maxima[term::LEXICAL].unwrap_or(0.0);
        for (i, offset) in OFFSETS.into_iter().enumerate() {
            let term = term::NEIGHBOURS_LEXICAL + i;
            if scorer.weighs(term) {
                let value = largest_beside(&self.places, &self.lexical, offset);
                scorer.maxima[term] = Some(Scorer::normalised(value, most));
            }
        }
        for term in [term::ANSWER_LEXICAL, term::REPLY_LEXICAL] {
            if scorer.weighs(term) {
                let slots = 0..self.places.len();
                let value = largest(slots.map(|slot| match term {
                    term::ANSWER_LEXICAL => self.answer(&self.lexical, slot),
                    _ => self.reply(slot),
                }));
                scorer.maxima[term] = Some(Scorer::normalised(value, most));
            }
        }
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
            each_row(&self.places, &self.segments, |slot, part, _, row| {
                (cosines.low[slot], cosines.high[slot]) = fields[part].content_bounds(row);
            });
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
        if embedded && scorer.weighs(term::CONTEXT_VECTOR) {
            let context = Context::new(&self.segments, &scorer.vector);
            let bounds = context::bounds(&self.places, &self.segments, &cosines);
            scorer.maxima[term::CONTEXT_VECTOR] = Some(context.most(&self.places, &bounds));
            self.context = Some(context);
            near = Some(bounds);
        }
        self.level = self.bounds(fields, scorer, &semantic, near.as_ref());
    }

    fn fill_cosines(&self, scorer: &mut Scorer<'_>) {
        let most = scorer.maxima[term::COSINE].unwrap_or(0.0);
        for (i, offset) in OFFSETS.into_iter().enumerate() {
            let term = term::NEIGHBOURS_COSINE + i;
            if scorer.weighs(term) {
                let value = largest_beside(&self.places, &self.semantic, offset);
                scorer.maxima[term] = Some(Scorer::normalised(value, most));
            }
        }
        if scorer.weighs(term::ANSWER_COSINE) {
            let slots = 0..self.places.len();
            let value = largest(slots.map(|slot| self.answer(&self.semantic, slot)));
            scorer.maxima[term::ANSWER_COSINE] = Some(Scorer::normalised(value, most));
        }
    }

    /// The largest value of the next memory's parts that the assistant said, at least 0.
    fn answer(&self, values: &[f64], slot: usize) -> f64 {
        let next = self.places.beside(slot, 1);
        let said = next.filter(|at| self.holds(*at, fact::ASSISTANT));
        largest(said.map(|at| values[at]))
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
        let facts = self.facts();
        let mut level = Level::new(scorer, facts);
        level.add_kinds(|kind| {
            let of = |(term, _)| (term, of_text(term, kind));
            OF_TEXTS.map(of)
        });
        let places = &*self.places;
        for (at, term) in WINDOWS.into_iter().enumerate() {
            level.add(term, 1.0, |slot| self.windows[at][slot]);
        }
        level.add(term::LEXICAL, 1.0, |slot| self.lexical[slot]);
        for (first, values, of) in [
            (term::NEIGHBOURS_LEXICAL, &self.lexical, term::LEXICAL),
            (term::NEIGHBOURS_COSINE, &self.semantic, term::COSINE),
        ] {
            for (i, offset) in OFFSETS.into_iter().enumerate() {
                let unit = level.inverse(of);
                level.add(first + i, unit, |slot| beside(places, values, slot, offset));
            }
        }
        let (words, cosines) = (level.inverse(term::LEXICAL), level.inverse(term::COSINE));
        level.add(term::ANSWER_LEXICAL, words, |slot| {
            self.answer(&self.lexical, slot)
        });
        level.add(term::ANSWER_COSINE, cosines, |slot| {
            self.answer(&self.semantic, slot)
        });
        level.add(term::REPLY_LEXICAL, words, |slot| self.reply(slot));
        if !self.people.is_empty() {
            level.add(term::PERSON, 1.0, |slot| self.person(slot));
            level.add(term::FIRST_PERSON_PERSON, 1.0, |slot| {
                self.first_person(slot)
            });
        }
        level.add(term::DATE, 1.0, |slot| self.date[slot]);
        if level.weighs(term::FORM_LENGTH) {
            let of: Vec<f64> = (0..1 << 11).map(of_length).collect();
            level.add(term::FORM_LENGTH, 1.0, |slot| {
                of[usize::from(facts.lengths[slot])]
            });
        }
        for (at, term) in super::fields::DENSE.into_iter().enumerate() {
            if level.weighs(term) {
                let mut values = vec![0.0; places.len()];
                each_row(places, &self.segments, |slot, part, _, row| {
                    values[slot] = fields[part].dense[at].get(row).copied().unwrap_or(0.0);
                });
                level.add(term, 1.0, |slot| values[slot]);
            }
        }
        level.into_bounds(&[(term::COSINE, Some(semantic)), (term::CONTEXT_VECTOR, near)])
    }

    /// Raw values of a row by position in SIGNALS, for the terms that have a maximum.
    pub(super) fn fill_raw(&self, scorer: &Scorer<'_>, slot: usize, raw: &mut [f64; TERMS]) {
        let maxima = &scorer.maxima;
        let most = |term: usize| maxima[term].unwrap_or(0.0);
        let mut set = |term: usize, value: &dyn Fn() -> f64| {
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
            set(term::CONTEXT_VECTOR, &|| context.of(&self.places, slot));
        }
        for (first, values, of) in [
            (term::NEIGHBOURS_LEXICAL, &self.lexical, term::LEXICAL),
            (term::NEIGHBOURS_COSINE, &self.semantic, term::COSINE),
        ] {
            for (i, offset) in OFFSETS.into_iter().enumerate() {
                set(first + i, &|| {
                    let value = beside(&self.places, values, slot, offset);
                    Scorer::normalised(value, most(of))
                });
            }
        }
        let words = |value| Scorer::normalised(value, most(term::LEXICAL));
        set(term::ANSWER_LEXICAL, &|| {
            words(self.answer(&self.lexical, slot))
        });
        set(term::REPLY_LEXICAL, &|| words(self.reply(slot)));
        set(term::ANSWER_COSINE, &|| {
            Scorer::normalised(self.answer(&self.semantic, slot), most(term::COSINE))
        });
        set(term::PERSON, &|| self.person(slot));
        set(term::FIRST_PERSON_PERSON, &|| self.first_person(slot));
        set(term::DATE, &|| self.date[slot]);
        set(term::FORM_LENGTH, &|| of_length(self.facts().lengths[slot]));
    }
}

/// The largest value among the memories at that offset; 0 outside the session.
#[inline]
fn beside(places: &Places, values: &[f64], slot: usize, offset: isize) -> f64 {
    if places.single() {
        return if places.reaches(slot, offset) {
            values[slot.wrapping_add_signed(offset)]
        } else {
            0.0
        };
    }
    let found = places.beside(slot, offset).map(|at| values[at]);
    found.reduce(f64::max).unwrap_or(0.0)
}

fn largest_beside(places: &Places, values: &[f64], offset: isize) -> f64 {
    let most = largest(values.iter().copied());
    let top = values.iter().position(|value| *value == most);
    // Whoever stands on the other side of the largest sees it.
    if top.is_some_and(|slot| places.reaches(slot, -offset)) {
        return most;
    }
    largest((0..places.len()).map(|slot| beside(places, values, slot, offset)))
}
