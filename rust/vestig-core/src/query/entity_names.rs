//! Names of entities in the words of a text, and which words memories write in lower case.

use std::collections::HashMap;

use crate::kernels::bits::has;
use crate::segment::format::Section;
use crate::segment::row::LOWER_CASE;
use crate::segment::{Id, Segment};
use crate::snapshot::{Part, Snapshot};
use crate::words::{self, names::Word};

/// Most words of a name.
const WORDS_MAX: usize = 8;

/// A run of words that is the name of an entity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameMatch {
    /// First word.
    pub first: usize,
    /// Number of words.
    pub count: usize,
    /// Whose name.
    pub entity: Id,
    /// As stored.
    pub name: String,
}

/// All names of unexpired entities of a namespace in the words of each text, overlaps included: a
/// name is there when its normal form equals a run of 1 to 8 words joined by one space, stripped
/// at the outer ends. Ascending.
#[must_use]
pub fn find_names(
    snapshot: &Snapshot,
    namespace: &str,
    texts: &[&[Word]],
    known_at: i64,
) -> Vec<Vec<NameMatch>> {
    let words = || texts.iter().flat_map(|words| words.iter());
    let (bare, left) = (
        Distinct::of(words().map(|word| &*word.bare)),
        Distinct::of(words().map(|word| &*word.left)),
    );
    let mut found = vec![Vec::new(); texts.len()];
    let mut run = String::new();
    for part in &snapshot.parts {
        let segment = part.segment.as_ref();
        if segment.memory_rows() == segment.rows() {
            continue;
        }
        let Some(space) = segment.string_number(namespace) else {
            continue;
        };
        let lookup = NameLookup {
            part,
            space,
            known_at,
        };
        let names: Vec<_> = bare.texts.iter().map(|text| lookup.norm(text)).collect();
        let mut begins = |text: &&str| {
            run.clear();
            run.push_str(text);
            !run.is_empty() && has_continuation(segment, &mut run)
        };
        let begins: Vec<bool> = left.texts.iter().map(&mut begins).collect();
        let mut places = bare.places.iter().zip(&left.places);
        for (words, found) in texts.iter().zip(&mut found) {
            for (first, (bare, left)) in (0..words.len()).zip(&mut places) {
                if let Some(norm) = names[*bare] {
                    lookup.add_named(norm, first, 1, found);
                }
                let own = words[first].bare_possessive();
                if let Some(norm) = own.and_then(|text| lookup.norm(text)) {
                    lookup.add_named(norm, first, 1, found);
                }
                if begins[*left] {
                    lookup.match_longer(words, first, &mut run, found);
                }
            }
        }
    }
    for hits in &mut found {
        hits.sort_unstable();
        hits.dedup();
    }
    found
}

/// Entities of a namespace with this name or alias, given in its normal form, whatever its case and
/// composition: those unexpired at K, or all. Ascending.
#[must_use]
pub fn with_name(
    snapshot: &Snapshot,
    namespace: &str,
    norm: &str,
    known_at: Option<i64>,
) -> Vec<Id> {
    let mut found = Vec::new();
    for part in &snapshot.parts {
        let segment = part.segment.as_ref();
        let Some(space) = segment.string_number(namespace) else {
            continue;
        };
        let namespaces = segment.column::<u32>(Section::Namespace);
        let spellings = segment.spellings(norm).iter();
        for (row, _) in spellings.flat_map(|number| segment.named(*number)) {
            let known = known_at.is_none_or(|at| segment.known(row, at));
            if known && namespaces[row] == space && has(&part.live, row) {
                found.push(segment.ids()[row]);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The distinct ones among texts, and which of them stands at each place: a batch repeats most of
/// its words, and each is looked up once.
struct Distinct<'a> {
    texts: Vec<&'a str>,
    places: Vec<usize>,
}

impl<'a> Distinct<'a> {
    fn of(all: impl Iterator<Item = &'a str>) -> Self {
        let (mut texts, mut numbers) = (Vec::new(), HashMap::new());
        let mut number = |text| {
            *numbers.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() - 1
            })
        };
        let places = all.map(&mut number).collect();
        Self { texts, places }
    }
}

/// Returns whether some string of the segment begins with these words followed by another one.
fn has_continuation(segment: &Segment, run: &mut String) -> bool {
    run.push(' ');
    let number = segment.string_lower_bound(run);
    let more = segment
        .string(number)
        .is_some_and(|text| text.starts_with(run.as_str()));
    run.pop();
    more
}

struct NameLookup<'a> {
    part: &'a Part,
    space: u32,
    known_at: i64,
}

impl NameLookup<'_> {
    /// The number of a text that is the normal form of a name.
    fn norm(&self, text: &str) -> Option<u32> {
        let segment = self.part.segment.as_ref();
        let number = segment.string_number(text)?;
        segment.named(number).next().map(|_| number)
    }

    /// Names of several words that begin with this one, as long as any can go on.
    fn match_longer(
        &self,
        words: &[Word],
        first: usize,
        run: &mut String,
        found: &mut Vec<NameMatch>,
    ) {
        let segment = self.part.segment.as_ref();
        run.clear();
        run.push_str(&words[first].left);
        for count in 2..=WORDS_MAX.min(words.len() - first) {
            let last = &words[first + count - 1];
            run.push(' ');
            let end = run.len();
            run.push_str(&last.right);
            if let Some(norm) = self.norm(run) {
                self.add_named(norm, first, count, found);
            }
            if let Some(own) = last.right_possessive() {
                run.truncate(end);
                run.push_str(own);
                if let Some(norm) = self.norm(run) {
                    self.add_named(norm, first, count, found);
                }
            }
            run.truncate(end);
            run.push_str(&last.raw);
            if !has_continuation(segment, run) {
                return;
            }
        }
    }

    fn add_named(&self, norm: u32, first: usize, count: usize, found: &mut Vec<NameMatch>) {
        let segment = self.part.segment.as_ref();
        let namespaces = segment.column::<u32>(Section::Namespace);
        for (row, name) in segment.named(norm) {
            let known = segment.known(row, self.known_at);
            if known && namespaces[row] == self.space && has(&self.part.live, row) {
                found.push(NameMatch {
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
