//! The terms of L by their place in its sum (Q-03, K-07).

/// Number of terms.
pub const TERMS: usize = 46;

/// The terms of L in the order of their sum, parts of a signal behind dots.
pub const SIGNALS: [&str; TERMS] = [
    "cosine",
    "keyword",
    "temporal",
    "entity",
    "recency",
    "lexical",
    "context.words",
    "context.vector",
    "context.soft",
    "context.wide",
    "neighbours.lexical.-2",
    "neighbours.lexical.-1",
    "neighbours.lexical.+1",
    "neighbours.lexical.+2",
    "neighbours.lexical.+3",
    "neighbours.cosine.-2",
    "neighbours.cosine.-1",
    "neighbours.cosine.+1",
    "neighbours.cosine.+2",
    "neighbours.cosine.+3",
    "answer.lexical",
    "answer.cosine",
    "role",
    "questions",
    "person",
    "date",
    "when",
    "form.question",
    "form.length",
    "form.first",
    "reply.question",
    "reply.lexical",
    "reply.late",
    "answer_type.number",
    "answer_type.name",
    "first_person.said",
    "first_person.person",
    "entity_walk",
    "pair.pair",
    "pair.gain",
    "title",
    "late.mean",
    "late.idf",
    "late.window",
    "late.window_idf",
    "rerank",
];

pub(super) const COSINE: usize = 0;
pub(super) const KEYWORD: usize = 1;
pub(super) const TEMPORAL: usize = 2;
pub(super) const ENTITY: usize = 3;
pub(super) const RECENCY: usize = 4;
pub(super) const LEXICAL: usize = 5;
pub(super) const CONTEXT_WORDS: usize = 6;
pub(super) const CONTEXT_VECTOR: usize = 7;
pub(super) const CONTEXT_SOFT: usize = 8;
pub(super) const CONTEXT_WIDE: usize = 9;
/// Of the first of [`OFFSETS`].
pub(super) const NEIGHBOURS_LEXICAL: usize = 10;
/// Of the first of [`OFFSETS`].
pub(super) const NEIGHBOURS_COSINE: usize = 15;
pub(super) const ANSWER_LEXICAL: usize = 20;
pub(super) const ANSWER_COSINE: usize = 21;
pub(super) const ROLE: usize = 22;
pub(super) const QUESTIONS: usize = 23;
pub(super) const PERSON: usize = 24;
pub(super) const DATE: usize = 25;
pub(super) const WHEN: usize = 26;
pub(super) const FORM_QUESTION: usize = 27;
pub(super) const FORM_LENGTH: usize = 28;
pub(super) const FORM_FIRST: usize = 29;
pub(super) const REPLY_QUESTION: usize = 30;
pub(super) const REPLY_LEXICAL: usize = 31;
pub(super) const REPLY_LATE: usize = 32;
pub(super) const ANSWER_TYPE_NUMBER: usize = 33;
pub(super) const ANSWER_TYPE_NAME: usize = 34;
pub(super) const FIRST_PERSON_SAID: usize = 35;
pub(super) const FIRST_PERSON_PERSON: usize = 36;
pub(super) const ENTITY_WALK: usize = 37;
pub(super) const PAIR: usize = 38;
pub(super) const PAIR_GAIN: usize = 39;
pub(super) const TITLE: usize = 40;
/// The first of [`LATE`].
pub(super) const LATE_MEAN: usize = 41;
pub(super) const RERANK: usize = 45;

/// Distances of the parts of `neighbours`.
pub(super) const OFFSETS: [isize; 5] = [-2, -1, 1, 2, 3];

/// Terms that few rows have a value of.
pub(super) const OF_FEW: [usize; 11] = [
    ENTITY,
    REPLY_LATE,
    ENTITY_WALK,
    PAIR,
    PAIR_GAIN,
    TITLE,
    LATE_MEAN,
    LATE_MEAN + 1,
    LATE_MEAN + 2,
    LATE_MEAN + 3,
    RERANK,
];

/// Kinds of questions, bits of `Query::asks`.
pub(super) mod asks {
    /// When something is or was.
    pub(in crate::recall) const WHEN: u8 = 1;
    /// How many.
    pub(in crate::recall) const NUMBER: u8 = 2;
    /// Who, where, which or what thing.
    pub(in crate::recall) const NAME: u8 = 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_names() {
        for (at, name) in [
            (LEXICAL, "lexical"),
            (CONTEXT_WIDE, "context.wide"),
            (NEIGHBOURS_LEXICAL, "neighbours.lexical.-2"),
            (NEIGHBOURS_COSINE + 4, "neighbours.cosine.+3"),
            (ANSWER_COSINE, "answer.cosine"),
            (QUESTIONS, "questions"),
            (PERSON, "person"),
            (WHEN, "when"),
            (FORM_FIRST, "form.first"),
            (REPLY_LATE, "reply.late"),
            (ANSWER_TYPE_NAME, "answer_type.name"),
            (FIRST_PERSON_PERSON, "first_person.person"),
            (ENTITY_WALK, "entity_walk"),
            (TITLE, "title"),
            (LATE_MEAN + 3, "late.window_idf"),
            (RERANK, "rerank"),
        ] {
            assert_eq!(SIGNALS[at], name);
        }
        for (i, offset) in OFFSETS.into_iter().enumerate() {
            let name = format!("neighbours.lexical.{offset:+}");
            assert_eq!(SIGNALS[NEIGHBOURS_LEXICAL + i], name);
        }
    }
}
