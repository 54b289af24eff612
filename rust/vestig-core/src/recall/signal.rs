//! The signals: one table of names, divisors and meanings, from which everything else follows.
//!
//! A new signal is one row here, what computes it, and its weight.

use std::ops::{Index, IndexMut};

/// What a raw value is divided by before its weight multiplies it. A largest value of at most 0
/// makes every normalised value 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normaliser {
    /// The largest raw value over the eligible memories.
    Largest,
    /// The raw value is the normalised one of another signal, of another memory; it is divided by
    /// the largest such value.
    LargestOf(Signal),
    /// The largest raw value over the memories that it was computed for; the others have 0.
    LargestOfPool,
}

impl Normaliser {
    /// In words.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Largest => "largest value of the eligible memories".into(),
            Self::LargestOf(signal) => {
                let name = signal.name();
                format!("largest `{name}` of the eligible memories, then its own largest value")
            }
            Self::LargestOfPool => "largest value of the memories it is computed for".into(),
        }
    }
}

macro_rules! signals {
    ($($signal:ident $name:literal $normaliser:expr, $text:literal;)*) => {
        /// A term of the linear score L. The order is that of the sum, which makes its bits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Signal { $(#[doc = $text] $signal,)* }

        impl Signal {
            /// Every signal in the order of the sum.
            pub const ALL: [Self; [$(Self::$signal),*].len()] = [$(Self::$signal),*];

            /// Public name; parts of a signal stand behind dots.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$signal => $name,)* }
            }

            /// What it measures, one line for documentation.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Self::$signal => $text,)* }
            }

            /// What its raw values are divided by.
            #[must_use]
            pub const fn normaliser(self) -> Normaliser {
                use Normaliser::{Largest, LargestOf, LargestOfPool};
                match self { $(Self::$signal => $normaliser,)* }
            }
        }
    };
}

signals! {
    Cosine "cosine" Largest,
        "cosine of the query's vector with that of the memory, mixed with its nearest stored question";
    Keyword "keyword" Largest,
        "keywords shared with the query: Jaccard index, or the idf-weighted share of the query's";
    Temporal "temporal" Largest,
        "how well the time of the memory and the times in its text meet the query's time windows";
    Entity "entity" Largest,
        "share of the query's entities that the memory mentions";
    Recency "recency" Largest,
        "exponential decay with the age of the fact at query time";
    Lexical "lexical" Largest,
        "BM25 of the query's terms in the memory (k1 0.9, b 0.4)";
    Topic "topic" Largest,
        "cosine of the memory's vector with that of the query's content words";
    TopicLexical "topic_lexical" Largest,
        "BM25 of the query's content terms in the memory";
    Bigram "bigram" Largest,
        "pairs of neighbouring content terms of the query that are neighbours in the memory, function words left out";
    ContextWords "context.words" Largest,
        "BM25 over the memory and the turns directly before and after as one text";
    ContextVector "context.vector" Largest,
        "cosine of the query with the unit sum of the vectors of the memory and its direct neighbours";
    ContextSoft "context.soft" Largest,
        "BM25 over the turns up to two away, counted 1, 1/2 and 1/4 by distance";
    ContextWide "context.wide" Largest,
        "BM25 over the turns up to two away as one text";
    NeighboursLexicalBefore2 "neighbours.lexical.-2" LargestOf(Signal::Lexical),
        "lexical score of the turn two before";
    NeighboursLexicalBefore1 "neighbours.lexical.-1" LargestOf(Signal::Lexical),
        "lexical score of the turn before";
    NeighboursLexicalAfter1 "neighbours.lexical.+1" LargestOf(Signal::Lexical),
        "lexical score of the turn after";
    NeighboursLexicalAfter2 "neighbours.lexical.+2" LargestOf(Signal::Lexical),
        "lexical score of the turn two after";
    NeighboursLexicalAfter3 "neighbours.lexical.+3" LargestOf(Signal::Lexical),
        "lexical score of the turn three after";
    Role "role" Largest,
        "1 if the user said it";
    Questions "questions" Largest,
        "BM25 of the query's terms in the questions that the memory answers";
    Person "person" Largest,
        "1 if the query names the author, -1 if it names exactly one other author";
    Date "date" Largest,
        "how well the times of the memory meet the explicit dates of the query, falling with distance";
    When "when" Largest,
        "for a question about when: time expressions of the memory, at most 2, divided by 2";
    FormQuestion "form.question" Largest,
        "1 if the text contains a question mark";
    FormLength "form.length" Largest,
        "ln(1 + code points of the text, at most 2000)";
    FormFirst "form.first" Largest,
        "1 if it is the first turn of its session";
    ReplyQuestion "reply.question" Largest,
        "1 if the turn before is by another author and contains a question mark";
    ReplyLexical "reply.lexical" LargestOf(Signal::Lexical),
        "lexical score of the turn before, if this one replies to its question";
    AnswerTypeNumber "answer_type.number" Largest,
        "for a question about how many: 1 if the text contains a number";
    AnswerTypeName "answer_type.name" Largest,
        "for a question about who, where or which: names in the text, at most 3, divided by 3";
    EntityWalk "entity_walk" LargestOfPool,
        "personalised PageRank over memories and entities from the query's entities and the best memories";
    PairPair "pair.pair" LargestOfPool,
        "idf-weighted share of the query's terms that it and a top memory with a common entity hold together";
    PairGain "pair.gain" LargestOfPool,
        "what the best such pair holds above the top memory alone";
    Title "title" LargestOfPool,
        "1 / (1 + rank) of the best top memory that mentions its title as an entity; the query counts as rank 0";
    LateOwnIdf "late.own_idf" LargestOfPool,
        "late interaction: idf-weighted mean over the query's word pieces of the largest similarity with one of the memory";
    LateW1Idf "late.w1_idf" LargestOfPool,
        "late.own_idf with the word pieces of the memory and of its neighbours at up to one position";
    LateW2Idf "late.w2_idf" LargestOfPool,
        "late.own_idf with the word pieces of the memory and of its neighbours at up to two positions";
    LateW2Cube "late.w2_cube" LargestOfPool,
        "idf-weighted mean of the cubes of the similarities of late.w2_idf, those below 0 left out";
    Rerank "rerank" LargestOfPool,
        "score of a cross-encoder for the best memories";
}

impl Signal {
    /// Number of signals.
    pub const COUNT: usize = Self::ALL.len();

    /// The lexical score of the turn so many places after (before: negative).
    pub(super) const NEIGHBOURS_LEXICAL: [(Self, isize); 5] = [
        (Self::NeighboursLexicalBefore2, -2),
        (Self::NeighboursLexicalBefore1, -1),
        (Self::NeighboursLexicalAfter1, 1),
        (Self::NeighboursLexicalAfter2, 2),
        (Self::NeighboursLexicalAfter3, 3),
    ];

    /// Terms of S_meta, in the order of `Ranking::meta_weights`.
    pub(super) const METADATA: [Self; 4] =
        [Self::Keyword, Self::Temporal, Self::Entity, Self::Recency];

    /// Signals with a value for every row of a segment, besides cosine and lexical.
    pub(super) const DENSE: [Self; 3] = [Self::Keyword, Self::Temporal, Self::Recency];

    /// Signals that few rows have a value of.
    pub(super) const SPARSE: [Self; 10] = [
        Self::Entity,
        Self::EntityWalk,
        Self::PairPair,
        Self::PairGain,
        Self::Title,
        Self::LateOwnIdf,
        Self::LateW1Idf,
        Self::LateW2Idf,
        Self::LateW2Cube,
        Self::Rerank,
    ];

    /// The signal of a public name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }

    /// Whether it looks at neighbours in a sitting as at those in a session.
    pub(super) fn sees_sittings(self) -> bool {
        (Self::ContextWords..=Self::NeighboursLexicalAfter3).contains(&self)
            || (Self::LateW1Idf..=Self::LateW2Cube).contains(&self)
    }

    /// Whether its values are held by turn: all between the lexical score and the entity walk.
    pub(super) fn is_by_turn(self) -> bool {
        (Self::Topic..=Self::AnswerTypeName).contains(&self)
    }
}

/// One value for each signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BySignal<T>([T; Signal::COUNT]);

impl<T> BySignal<T> {
    /// The same value for all.
    #[must_use]
    pub const fn of(value: T) -> Self
    where
        T: Copy,
    {
        Self([value; Signal::COUNT])
    }

    /// A value made of each signal.
    #[must_use]
    pub fn from_fn(mut value: impl FnMut(Signal) -> T) -> Self {
        Self(Signal::ALL.map(&mut value))
    }

    /// In the order of the sum.
    pub fn iter(&self) -> impl Iterator<Item = (Signal, &T)> {
        Signal::ALL.into_iter().zip(&self.0)
    }

    /// The values in the order of the sum.
    #[must_use]
    pub fn values(&self) -> &[T; Signal::COUNT] {
        &self.0
    }
}

impl<T: Copy + Default> Default for BySignal<T> {
    fn default() -> Self {
        Self::of(T::default())
    }
}

impl<T> Index<Signal> for BySignal<T> {
    type Output = T;

    #[inline]
    fn index(&self, signal: Signal) -> &T {
        &self.0[signal as usize]
    }
}

impl<T> IndexMut<Signal> for BySignal<T> {
    #[inline]
    fn index_mut(&mut self, signal: Signal) -> &mut T {
        &mut self.0[signal as usize]
    }
}

/// Kinds of questions, bits of `Query::question_kinds`.
pub mod question_kind {
    /// When something is or was.
    pub const WHEN: u8 = 1;
    /// How many.
    pub const NUMBER: u8 = 2;
    /// Who, where, which or what thing.
    pub const NAME: u8 = 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_find_their_signal() {
        for (place, signal) in Signal::ALL.into_iter().enumerate() {
            assert_eq!(signal as usize, place);
            assert_eq!(Signal::named(signal.name()), Some(signal));
        }
        assert_eq!(Signal::named("bias"), None);
    }

    #[test]
    fn names_of_neighbours_end_with_their_offset() {
        for (signal, offset) in Signal::NEIGHBOURS_LEXICAL {
            assert_eq!(signal.name(), format!("neighbours.lexical.{offset:+}"));
        }
    }
}
