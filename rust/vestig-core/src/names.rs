//! Names that a store knows, found in the words of a text (G-03), and how words are written.

use crate::format::Section;
use crate::row::LOWER_CASE;
use crate::segment::{Id, Segment};
use crate::snapshot::{Part, Snapshot, has};
use crate::words;

/// Most words of a name.
const WORDS_MAX: usize = 8;

/// A word of a text in lower case, as it stands and without punctuation at its ends.
#[derive(Debug, Clone, Default)]
pub struct Word {
    /// As it stands.
    pub raw: String,
    /// Without punctuation in front.
    pub left: String,
    /// Without punctuation behind.
    pub right: String,
    /// Without both.
    pub bare: String,
}

/// A run of words that is the name of an entity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// First word.
    pub first: usize,
    /// Number of words.
    pub count: usize,
    /// Whose name.
    pub entity: Id,
    /// As stored.
    pub name: String,
}

/// All names of unexpired entities of a namespace in these words, overlaps included: a name is
/// there when its normal form equals a run of 1 to 8 words joined by one space, stripped at the
/// outer ends. Ascending.
#[must_use]
pub fn find_names(
    snapshot: &Snapshot,
    namespace: &str,
    words: &[Word],
    known_at: i64,
) -> Vec<Found> {
    let mut found = Vec::new();
    let mut run = String::new();
    for part in &snapshot.parts {
        let segment = part.segment.as_ref();
        if segment.memory_rows() == segment.rows() {
            continue;
        }
        let Some(space) = segment.string_number(namespace) else {
            continue;
        };
        let look = Look {
            part,
            space,
            known_at,
        };
        for first in 0..words.len() {
            look.named(&words[first].bare, first, 1, &mut found);
            run.clear();
            run.push_str(&words[first].left);
            if run.is_empty() || !starts_a_name(segment, &mut run) {
                continue;
            }
            for count in 2..=WORDS_MAX.min(words.len() - first) {
                let last = &words[first + count - 1];
                run.push(' ');
                let end = run.len();
                run.push_str(&last.right);
                look.named(&run, first, count, &mut found);
                run.truncate(end);
                run.push_str(&last.raw);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether some text of the segment begins with these words and goes on with another.
fn starts_a_name(segment: &Segment, run: &mut String) -> bool {
    run.push(' ');
    let number = segment.string_lower_bound(run);
    let starts = segment
        .string(number)
        .is_some_and(|text| text.starts_with(run.as_str()));
    run.pop();
    starts
}

struct Look<'a> {
    part: &'a Part,
    space: u32,
    known_at: i64,
}

impl Look<'_> {
    fn named(&self, run: &str, first: usize, count: usize, found: &mut Vec<Found>) {
        let segment = self.part.segment.as_ref();
        let Some(norm) = segment.string_number(run) else {
            return;
        };
        let namespaces = segment.column::<u32>(Section::Namespace);
        for (row, name) in segment.named(norm) {
            let known = segment.known(row, self.known_at);
            if known && namespaces[row] == self.space && has(&self.part.live, row) {
                found.push(Found {
                    first,
                    count,
                    entity: segment.ids()[row],
                    name: segment.string(name).unwrap_or_default().to_owned(),
                });
            }
        }
    }
}

/// Per word, whether a memory of the namespace holds it written in lower case.
#[must_use]
pub fn lowercase(snapshot: &Snapshot, namespace: &str, wanted: &[String]) -> Vec<bool> {
    let held = |word: &String| {
        let terms = words::terms(word, None);
        let Some(term) = terms.first() else {
            return false;
        };
        snapshot
            .parts
            .iter()
            .any(|part| in_lower_case(part, namespace, term))
    };
    wanted.iter().map(held).collect()
}

fn in_lower_case(part: &Part, namespace: &str, term: &str) -> bool {
    let segment = part.segment.as_ref();
    let (Some(space), Some(number)) = (segment.string_number(namespace), segment.term_number(term))
    else {
        return false;
    };
    let namespaces = segment.column::<u32>(Section::Namespace);
    let (rows, counts) = segment.postings(number as usize);
    rows.iter().zip(counts).any(|(row, count)| {
        let row = *row as usize;
        count & LOWER_CASE != 0 && namespaces[row] == space && has(&part.live, row)
    })
}
