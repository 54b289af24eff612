//! What follows from the rows alone, whatever the query: flags of texts, authors, years. Computed
//! once for a set of eligible memories.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::turn_index::{NONE, TurnIndex};
use super::window_words::{SHAPES, WindowNorms};
use crate::kernels::author_names::folded;
use crate::kernels::dates::year_of;
use crate::segment::Segment;
use crate::segment::format::Section;

/// Bits of a code of [`TextFlags`]: what signals make of it, `ORIGIN` and `NAMES`, `TIMES` being
/// numbers.
pub(super) mod flag {
    pub(in crate::recall) const ORIGIN: u16 = 3;
    pub(in crate::recall) const USER: u16 = 1 << 2;
    pub(in crate::recall) const QUESTION: u16 = 1 << 3;
    pub(in crate::recall) const NUMBER: u16 = 1 << 4;
    pub(in crate::recall) const NAMES: u32 = 5;
    pub(in crate::recall) const TIMES: u32 = 7;
    pub(in crate::recall) const FIRST_TURN: u16 = 1 << 9;
    pub(in crate::recall) const REPLIES: u16 = 1 << 10;
    /// Number of codes.
    pub(in crate::recall) const CODES: usize = 1 << 11;
}

/// Bits of the features of a text.
const LENGTH: u32 = LENGTHS as u32 - 1;
/// Lengths of texts that are told apart.
pub(super) const LENGTHS: usize = 1 << 11;
const HAS_QUESTION: u32 = 1 << 11;
const HAS_NUMBER: u32 = 1 << 12;
const NAMES_SHIFT: u32 = 14;
/// No author has this number.
const UNSEEN: u32 = NONE - 1;

/// Small numbers of every turn.
pub(super) struct TextFlags {
    /// By turn, see [`flag`].
    pub(super) codes: Vec<u16>,
    /// Those that occur.
    pub(super) distinct_codes: Vec<u16>,
    /// By turn: code points, at most 2,000.
    pub(super) lengths: Vec<u16>,
}

/// Authors by turn.
pub(super) struct Authors {
    /// By turn; `NONE` = without author.
    pub(super) of: Vec<u32>,
    /// As they are compared with queries.
    pub(super) names: Vec<Vec<char>>,
}

/// Everything that follows from the rows, at first use.
#[derive(Default)]
pub(super) struct DerivedColumns {
    text_flags: OnceLock<TextFlags>,
    authors: OnceLock<Authors>,
    years: OnceLock<Vec<i64>>,
    pub(super) windows: [OnceLock<WindowNorms>; SHAPES.len()],
    pub(super) norms: OnceLock<Vec<f32>>,
}

/// Calls `sink` with every turn, its segment and row, in the order of rows.
pub(super) fn each_row<'a>(
    index: &TurnIndex,
    segments: &[&'a Segment],
    mut sink: impl FnMut(usize, usize, &'a Segment, usize),
) {
    for (part, segment) in segments.iter().enumerate() {
        for (row, turn) in index.turns(part).iter().enumerate() {
            if *turn != NONE {
                sink(*turn as usize, part, segment, row);
            }
        }
    }
}

impl TurnIndex {
    pub(super) fn text_flags(&self, segments: &[&Segment]) -> &TextFlags {
        self.derived
            .text_flags
            .get_or_init(|| self.find_text_flags(segments))
    }

    fn find_text_flags(&self, segments: &[&Segment]) -> TextFlags {
        let mut codes = vec![0_u16; self.len()];
        let mut lengths = vec![0_u16; self.len()];
        for (part, segment) in segments.iter().enumerate() {
            let user = segment.string_number("user").unwrap_or(NONE - 1);
            let roles = segment.column::<u32>(Section::Role);
            let attributes = segment.column::<[u8; 8]>(Section::Attributes);
            let windows = segment.column::<u32>(Section::WindowOffsets);
            for (row, turn) in self.turns(part).iter().enumerate() {
                if *turn == NONE {
                    continue;
                }
                let features = segment.features(row);
                let flag = |holds: bool, flag: u16| if holds { flag } else { 0 };
                let times = (windows[row + 1] - windows[row]).min(2) as u16;
                let names = (features >> NAMES_SHIFT & 3) as u16;
                codes[*turn as usize] = u16::from(attributes[row][2] & 3)
                    | flag(roles[row] == user, flag::USER)
                    | flag(features & HAS_QUESTION != 0, flag::QUESTION)
                    | flag(features & HAS_NUMBER != 0, flag::NUMBER)
                    | names << flag::NAMES
                    | times << flag::TIMES;
                lengths[*turn as usize] = (features & LENGTH) as u16;
            }
        }
        let authors = &self.authors(segments).of;
        if self.single() {
            for session in self.talks() {
                codes[session.start] |= flag::FIRST_TURN;
                for turn in session.skip(1) {
                    let has_question = codes[turn - 1] & flag::QUESTION != 0;
                    if has_question && authors[turn - 1] != authors[turn] {
                        codes[turn] |= flag::REPLIES;
                    }
                }
            }
        } else {
            self.flag_positions(&mut codes, authors);
        }
        let mut occurs = vec![false; flag::CODES];
        codes
            .iter()
            .for_each(|code| occurs[usize::from(*code)] = true);
        let distinct_codes = (0..flag::CODES as u16).filter(|code| occurs[usize::from(*code)]);
        TextFlags {
            distinct_codes: distinct_codes.collect(),
            codes,
            lengths,
        }
    }

    /// Who answers and who is the first of a session.
    fn flag_positions(&self, codes: &mut [u16], authors: &[u32]) {
        for turn in 0..self.len() {
            let has_question = |other: usize| {
                codes[other] & flag::QUESTION != 0 && authors[other] != authors[turn]
            };
            if self.beside(turn, -1).any(has_question) {
                codes[turn] |= flag::REPLIES;
            }
            if self.is_first(turn) {
                codes[turn] |= flag::FIRST_TURN;
            }
        }
    }

    pub(super) fn authors(&self, segments: &[&Segment]) -> &Authors {
        self.derived.authors.get_or_init(|| {
            let mut numbers: HashMap<&str, u32> = HashMap::new();
            let mut of = vec![NONE; self.len()];
            for (part, segment) in segments.iter().enumerate() {
                let authors = segment.column::<u32>(Section::Author);
                let strings = segment.column::<u64>(Section::StringOffsets).len();
                let mut known = vec![UNSEEN; strings];
                for (row, turn) in self.turns(part).iter().enumerate() {
                    let author = authors[row];
                    if *turn == NONE || author == NONE {
                        continue;
                    }
                    let number = &mut known[author as usize];
                    if *number == UNSEEN {
                        let name = segment.string(author).unwrap_or_default();
                        let next = numbers.len() as u32;
                        *number = if name.is_empty() {
                            NONE
                        } else {
                            *numbers.entry(name).or_insert(next)
                        };
                    }
                    of[*turn as usize] = *number;
                }
            }
            let mut names = vec![Vec::new(); numbers.len()];
            for (name, number) in numbers {
                names[number as usize] = folded(name);
            }
            Authors { of, names }
        })
    }

    /// Years in which an eligible memory has `t_valid`, ascending.
    pub(super) fn years(&self, segments: &[&Segment]) -> &[i64] {
        self.derived.years.get_or_init(|| {
            let mut years = Vec::new();
            let mut last = None;
            each_row(self, segments, |_, _, segment, row| {
                let year = year_of(segment.column::<i64>(Section::Valid)[row]);
                if last != Some(year) {
                    last = Some(year);
                    years.push(year);
                }
            });
            years.sort_unstable();
            years.dedup();
            years
        })
    }
}
