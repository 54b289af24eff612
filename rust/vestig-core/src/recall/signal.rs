//! The terms of scores: one table of names, groups, meanings and sources, from which everything else
//! follows.
//!
//! A new signal is one row here, what computes it, and its weight.

use std::ops::{Index, IndexMut};

use super::text_values::{long_value, question_value};

/// A term of a score, as a reader is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// Public name.
    pub name: &'static str,
    /// Terms of a group are one reason to a reader.
    pub group: &'static str,
    /// Completes "a weight of …".
    pub meaning: &'static str,
    /// Definition of its values.
    pub definition: &'static str,
    /// Said by a reason where it adds something: the first of these whose `{names}` all have a
    /// value. Terms with the same sentences are told once, together.
    pub sentences: &'static [&'static str],
}

/// The place of a signal's values, and whose they are.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A column of `SegmentColumns::values`, of every eligible memory.
    Column,
    /// A function of the flags of a row's text (`words::flags`).
    Text(fn(u32) -> f64),
    /// S_query.
    Cosine,
    /// `SparseRow::values`, of few memories.
    Sparse,
    /// The same, of those whose word pieces are compared.
    Pieces,
}

/// The constant of L.
pub const BIAS: Term = Term {
    name: "bias",
    group: "form",
    meaning: "a constant",
    definition: "1 for every memory of the kind",
    sentences: &[],
};

const MEANING: &[&str] = &["{near} in meaning (similarity {similarity})."];
const WORDS: &[&str] = &["Shares the words {words}."];
const DAYS: &[&str] = &["Of the time asked for: {days}."];
const NAMES: &[&str] = &["Names {names}."];
const LINKS: &[&str] = &["Names {names}.", "Shares names with what answers best."];

/// S_query, where terms are not summed.
pub const SEMANTIC: Term = Term {
    name: "semantic",
    group: "meaning",
    meaning: "meaning",
    definition: "cosine of the memory's vector with that of the query, mixed with its nearest \
                 stored question",
    sentences: MEANING,
};

/// The metadata signals: terms of S_meta, in the order of `Ranking::meta_weights`.
pub const METADATA: [Term; 4] = [
    Term {
        name: "keyword",
        group: "words",
        meaning: "words of the query in the text",
        definition: "share of the query's words that the memory has",
        sentences: WORDS,
    },
    Term {
        name: "temporal",
        group: "when",
        meaning: "times of the query",
        definition: "how near the times of the memory are to the windows of the query",
        sentences: DAYS,
    },
    Term {
        name: "entity",
        group: "names",
        meaning: "names of the query",
        definition: "share of the query's entities that the memory mentions",
        sentences: NAMES,
    },
    Term {
        name: "recency",
        group: "when",
        meaning: "being recent",
        definition: "how recent the memory is",
        sentences: &[],
    },
];

macro_rules! signals {
    ($($signal:ident $source:expr, $name:literal $group:literal $meaning:literal
       $definition:literal $sentences:expr;)*) => {
        /// A term of the linear score L. The order is that of the sum, which makes its bits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Signal { $(#[doc = $definition] $signal,)* }

        impl Signal {
            /// Every signal in the order of the sum.
            pub const ALL: [Self; [$(Self::$signal),*].len()] = [$(Self::$signal),*];

            /// Its name, group, meaning, definition and sentences.
            #[must_use]
            pub const fn term(self) -> Term {
                match self { $(Self::$signal => Term {
                    name: $name,
                    group: $group,
                    meaning: $meaning,
                    definition: $definition,
                    sentences: $sentences,
                },)* }
            }

            /// The place of its values.
            pub(super) const fn source(self) -> Source {
                match self { $(Self::$signal => $source,)* }
            }
        }
    };
}

signals! {
    Words Source::Column, "words" "words"
        "words that it and, less, the turns around it share with the query (BM25)"
        "BM25 of the query's terms in author, title and text (k1 0.9, b 0.4), with those of the \
         turns one and two away counted 1/2 and 1/4, as a share of the idf of all of them"
        WORDS;
    Date Source::Column, "date" "when"
        "nearness to the dates that the query names"
        "how near the times of the memory are to the dates of the query"
        DAYS;
    Question Source::Text(question_value), "question" "form"
        "being itself a short question"
        "for a text that ends with a question mark: 1 - content words / 8, at least 0, and at \
         least 1/2 where it states nothing"
        &[];
    Reply Source::Column, "reply" "conversation"
        "words of the question that it answers"
        "words of the turn before, where that ends with a question mark"
        &["Replies to the line before it: \"{line}\""];
    Long Source::Text(long_value), "long" "form"
        "length beyond 300 characters"
        "ln((1 + code points of the text, at most 2000) / 300), at least 0"
        &[];
    Person Source::Column, "person" "names"
        "the author being named by the query (another one: minus)"
        "1 if the query names the author, -1 if it names exactly one other author"
        &["By the author that the question names."];
    Topic Source::Cosine, "topic" "meaning"
        "meaning"
        "cosine of the memory's vector with that of the query's content words, mixed with its \
         nearest stored question"
        MEANING;
    EntityWalk Source::Sparse, "entity_walk" "names"
        "the walk over shared entities"
        "of a document: personalised PageRank over memories and entities from the query's \
         entities and the best memories"
        LINKS;
    Pair Source::Sparse, "pair" "names"
        "words that it and one of the best that shares a name hold together"
        "of a document: share of the query's idf that it and a top memory with a common entity \
         hold together"
        LINKS;
    Title Source::Sparse, "title" "names"
        "its title being a name in the query or in one of the best memories"
        "of a document: 1 / (1 + rank) of the best top memory that mentions its title as an \
         entity; the query counts as rank 0"
        &["Its title is a name in the question or its answer."];
    Late Source::Pieces, "late" "meaning"
        "word pieces, each with its best partner (MaxSim), rare ones more"
        "late interaction: idf-weighted mean over the query's word pieces of the largest \
         similarity with one of the memory, at most 0.4"
        MEANING;
    LateWindow Source::Pieces, "late_window" "conversation"
        "word pieces of the turns around it, what they add"
        "what the word pieces of the turns up to two away add to that"
        &["{around} more of the question."];
    Rerank Source::Sparse, "rerank" "meaning"
        "what a cross-encoder says of query and text"
        "score of a cross-encoder for the best memories, as a share of the largest of them"
        &["Chosen by the reranker."];
}

/// Parts of the sum, in their order.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    BeforeCosine,
    Cosine,
    AfterCosine,
}

impl Signal {
    /// Number of signals.
    pub const COUNT: usize = Self::ALL.len();

    /// Of every eligible memory, before the cosine is added.
    pub(super) const BEFORE_COSINE: [Self; Self::count(Stage::BeforeCosine)] =
        Self::of(Stage::BeforeCosine);

    /// Signals that few memories have a value of: those behind the cosine.
    pub(super) const SPARSE: [Self; Self::count(Stage::AfterCosine)] = Self::of(Stage::AfterCosine);

    const fn stage(self) -> Stage {
        match self.source() {
            Source::Column | Source::Text(_) => Stage::BeforeCosine,
            Source::Cosine => Stage::Cosine,
            Source::Sparse | Source::Pieces => Stage::AfterCosine,
        }
    }

    const fn count(stage: Stage) -> usize {
        let (mut found, mut at) = (0, 0);
        while at < Self::COUNT {
            found += (Self::ALL[at].stage() as usize == stage as usize) as usize;
            at += 1;
        }
        found
    }

    const fn of<const N: usize>(stage: Stage) -> [Self; N] {
        let mut found = [Self::Words; N];
        let (mut next, mut at) = (0, 0);
        while at < Self::COUNT {
            if Self::ALL[at].stage() as usize == stage as usize {
                found[next] = Self::ALL[at];
                next += 1;
            }
            at += 1;
        }
        found
    }

    /// Those of word pieces, computed for the pool alone.
    pub(super) const LATE: [Self; 2] = [Self::Late, Self::LateWindow];

    /// Public name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.term().name
    }

    /// The place among `SPARSE`; None = it is not one of them.
    pub(super) fn sparse_place(self) -> Option<usize> {
        Self::SPARSE.iter().position(|of| *of == self)
    }

    /// The signal of a public name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
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

    /// In the order of the sum.
    pub fn iter(&self) -> impl Iterator<Item = (Signal, &T)> {
        Signal::ALL.into_iter().zip(&self.0)
    }
}

impl<T: Default> Default for BySignal<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
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
    fn word_pieces_are_those_that_are_computed_of_them() {
        let pieces = Signal::ALL
            .into_iter()
            .filter(|signal| matches!(signal.source(), Source::Pieces));
        assert_eq!(pieces.collect::<Vec<_>>(), Signal::LATE);
    }

    #[test]
    fn the_cosine_stands_between_what_all_and_what_few_have() {
        let stages = [
            &Signal::BEFORE_COSINE[..],
            &[Signal::Topic],
            &Signal::SPARSE,
        ]
        .concat();
        assert_eq!(stages, Signal::ALL);
    }
}
