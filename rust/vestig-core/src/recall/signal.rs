//! The signals: one table of names and meanings, from which everything else follows.
//!
//! A new signal is one row here, what computes it, and its weight.

use std::ops::{Index, IndexMut};

macro_rules! signals {
    ($($signal:ident $name:literal $text:literal;)*) => {
        /// A term of the linear score L. The order is that of the sum, which makes its bits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Signal { $(#[doc = $text] $signal,)* }

        impl Signal {
            /// Every signal in the order of the sum.
            pub const ALL: [Self; [$(Self::$signal),*].len()] = [$(Self::$signal),*];

            /// Public name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$signal => $name,)* }
            }

            /// Returns what it measures, one line for documentation.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Self::$signal => $text,)* }
            }
        }
    };
}

signals! {
    Words "words"
        "BM25 of the query's terms in author, title and text (k1 0.9, b 0.4), with those of the turns one and two away counted 1/2 and 1/4, as a share of the idf of all of them";
    Date "date"
        "how near the times of the memory are to the dates of the query";
    Question "question"
        "for a text that ends with a question mark: 1 - content words / 8, at least 0, and at least 1/2 \
         where it states nothing";
    Reply "reply"
        "words of the turn before, where that ends with a question mark";
    Long "long"
        "ln((1 + code points of the text, at most 2000) / 300), at least 0";
    Person "person"
        "1 if the query names the author, -1 if it names exactly one other author";
    Topic "topic"
        "cosine of the memory's vector with that of the query's content words, mixed with its nearest stored question";
    EntityWalk "entity_walk"
        "of a document: personalised PageRank over memories and entities from the query's entities and the best memories";
    Pair "pair"
        "of a document: share of the query's idf that it and a top memory with a common entity hold together";
    Title "title"
        "of a document: 1 / (1 + rank) of the best top memory that mentions its title as an entity; the query counts as rank 0";
    Late "late"
        "late interaction: idf-weighted mean over the query's word pieces of the largest similarity with one of the memory, at most 0.4";
    LateWindow "late_window"
        "what the word pieces of the turns up to two away add to that";
    Rerank "rerank"
        "score of a cross-encoder for the best memories, as a share of the largest of them";
}

impl Signal {
    /// Number of signals.
    pub const COUNT: usize = Self::ALL.len();

    /// Of every eligible memory, before the cosine is added.
    pub(super) const BEFORE_COSINE: [Self; 6] = [
        Self::Words,
        Self::Date,
        Self::Question,
        Self::Reply,
        Self::Long,
        Self::Person,
    ];

    /// Signals that few memories have a value of: those behind the cosine.
    pub(super) const SPARSE: [Self; 6] = [
        Self::EntityWalk,
        Self::Pair,
        Self::Title,
        Self::Late,
        Self::LateWindow,
        Self::Rerank,
    ];

    /// Those of word pieces, computed for the pool alone.
    pub(super) const LATE: [Self; 2] = [Self::Late, Self::LateWindow];

    /// The signal of a public name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }
}

/// The metadata signals: terms of S_meta, in the order of `Ranking::meta_weights`.
pub const METADATA: [&str; 4] = ["keyword", "temporal", "entity", "recency"];

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
