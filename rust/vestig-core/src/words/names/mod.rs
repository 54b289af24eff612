//! Names in a text, by their form and by what the store knows, without a store.
//!
//! [`AnalysedText`] is a text taken apart: the names that rules find, and its words in the forms
//! in which known names are looked up. [`resolve`](AnalysedText::resolve) joins both. Offsets are
//! code points.

mod addresses;
mod analysed;
mod forms;
mod identifiers;
mod leads;
mod lists;
mod markup;
mod query;
mod quotations;
mod resolve;
mod runs;
mod table;
pub(super) mod text;
mod unspaced;

use std::collections::HashSet;
use std::ops::Range;

pub use analysed::{AnalysedText, Word};
pub use forms::{cased, normal, trimmed};
pub use query::QueryNames;
pub use quotations::quotations;
pub use resolve::{Context, Entity, Known, Mention, entity_named};
pub use runs::starts_sentence;
pub use table::NameTable;
pub use text::{Text, class_of};

use quotations::term;
use text::{ALPHA, DIGIT};

const TITLES: [&str; 6] = ["dr", "mr", "ms", "mrs", "prof", "professor"];
const LEGAL_FORMS: [&str; 19] = [
    "ltd",
    "limited",
    "inc",
    "incorporated",
    "corp",
    "corporation",
    "llc",
    "gmbh",
    "plc",
    "llp",
    "ag",
    "kg",
    "ohg",
    "bv",
    "nv",
    "srl",
    "spa",
    "pty",
    "co",
];

/// The kind that a rule takes a name for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An organisation.
    Org,
    /// A person.
    Person,
    /// A file or a path.
    File,
    /// A place.
    Place,
    /// A program, a ticket, a version.
    System,
    /// A topic.
    Concept,
    /// It cannot tell.
    Untyped,
}

impl Kind {
    /// Its name among the types of entities.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Org => "ORG",
            Self::Person => "PERSON",
            Self::File => "FILE",
            Self::Place => "PLACE",
            Self::System => "SYSTEM",
            Self::Concept => "CONCEPT",
            Self::Untyped => "UNTYPED",
        }
    }
}

/// A name as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// The words, without a final `'s`.
    pub name: String,
    /// First code point.
    pub start: usize,
    /// Code point behind the last one.
    pub end: usize,
    /// The kind that the rule takes it for.
    pub kind: Kind,
    /// 0-1, that of the rule.
    pub confidence: f64,
    /// True if several capitalised words begin a sentence, so that the first may have its capital
    /// from there.
    pub opens: bool,
}

impl Name {
    fn of(text: &Text, span: Range<usize>, kind: Kind, confidence: f64) -> Self {
        Self {
            name: text.slice(span.clone()),
            start: span.start,
            end: span.end,
            kind,
            confidence,
            opens: false,
        }
    }
}

/// The rules for names, with the words that are never one alone.
#[derive(Debug)]
pub struct NameRules {
    stop_words: HashSet<String>,
}

impl NameRules {
    /// Words in lower case that are no part of a name.
    #[must_use]
    pub fn new(stop_words: HashSet<String>) -> Self {
        Self { stop_words }
    }

    fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.contains(word)
    }

    /// Names that the rules find, with overlaps and in no order.
    #[must_use]
    pub fn candidates(&self, text: &Text) -> Vec<Name> {
        let mut found = Vec::new();
        addresses::addresses(text, &mut found);
        self.identifiers(text, &mut found);
        self.runs(text, &mut found);
        found.extend(unspaced::unspaced(text));
        found.extend(
            quotations(text)
                .into_iter()
                .filter_map(|one| term(text, one)),
        );
        found.retain(|name| self.says_which(&name.name));
        found
    }

    /// Names in order of position, without overlaps.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Name> {
        without_overlaps(self.candidates(&Text::prose(text, None)), |name| {
            (name.start, name.end, name.confidence)
        })
    }

    /// Returns whether a name, as it is stored, is more than function words and more than one
    /// ordinary word.
    fn says_which(&self, name: &str) -> bool {
        let plain = cased(name);
        let marked = name.starts_with(['@', '#']);
        is_specific(&plain) && !self.is_function(&plain) && (marked || has_mark(&plain))
    }

    /// Returns whether a name has function words only.
    fn is_function(&self, name: &str) -> bool {
        text::split(&name.to_lowercase()).all(|word| self.is_stop_word(word))
    }

    /// The title of a note or document as a name: of a path of headings the last part, without a
    /// final parenthesis; None where that is no name.
    #[must_use]
    pub fn title_name(&self, title: &str) -> Option<String> {
        let spaced = |c| text::class_of(c) & text::SPACE != 0;
        let mut kept = title;
        if let Some(inner) = title.trim_end_matches(spaced).strip_suffix(')')
            && let Some(at) = inner.rfind(['(', ')'])
            && inner[at..].starts_with('(')
        {
            kept = &inner[..at];
        }
        let last = kept.rsplit(" > ").next().unwrap_or_default();
        let name = text::stripped(last);
        let plain = cased(name);
        (is_specific(&plain) && !self.is_function(&plain)).then(|| name.to_owned())
    }
}

/// Returns whether a name has several words, or one with a capital, a digit, or a mark inside; a
/// word of a script without capitals has none to show.
fn has_mark(name: &str) -> bool {
    let text = Text::new(name);
    (0..text.len()).any(|at| {
        let sign = matches!(text.char(at), Some('_' | '.' | ':' | '/' | '-'));
        let caseless = text.is(at, ALPHA) && !text.is(at, text::LOWER);
        sign || caseless || text.is(at, text::SPACE | DIGIT)
    })
}

/// Without overlaps, in order of position: the longer span wins, then the higher confidence, then
/// the earlier position.
fn without_overlaps<T>(mut found: Vec<T>, span: impl Fn(&T) -> (usize, usize, f64)) -> Vec<T> {
    if found.len() < 2 {
        return found;
    }
    found.sort_by(|one, other| {
        let ((start, end, sure), (from, to, confidence)) = (span(one), span(other));
        (to - from)
            .cmp(&(end - start))
            .then(confidence.total_cmp(&sure))
            .then(start.cmp(&from))
    });
    let mut taken = vec![false; found.iter().map(|one| span(one).1).max().unwrap_or(0)];
    found.retain(|one| {
        let (start, end, _) = span(one);
        let own = taken.get_mut(start..end).unwrap_or_default();
        let free = !own.contains(&true);
        if free {
            own.fill(true);
        }
        free
    });
    found.sort_by_key(|one| span(one).0);
    found
}

/// Returns whether a name has at least two characters and a letter, or is a number with dots such
/// as a version.
#[must_use]
pub fn is_specific(name: &str) -> bool {
    let text = Text::new(name);
    let all = 0..text.len();
    if text.len() >= 2 && text.any(all.clone(), ALPHA) {
        return true;
    }
    (1..text.len().saturating_sub(1)).any(|at| text.holds(at, '.')) && text.any(all, DIGIT)
}
