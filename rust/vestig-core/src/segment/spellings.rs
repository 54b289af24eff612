//! The spellings that a segment holds of a name, by the form in which names are compared.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{NO_STRING, Segment};
use crate::segment::format::Section;
use crate::words::{folded, same_composed};

/// String numbers by folded form, made at the first filter by a name.
pub(super) type SpellingCache = OnceLock<HashMap<String, Vec<u32>>>;

const NAMES: [Section; 3] = [Section::Author, Section::Session, Section::Scope];
const LISTS_OF_NAMES: [Section; 3] = [Section::Tags, Section::Sources, Section::Actors];

impl Segment {
    /// Numbers of the texts among authors, sessions, scopes, tags, sources, actors and the normal
    /// forms of entities' names that are this name, whatever their case and composition.
    #[must_use]
    pub fn spellings(&self, name: &str) -> &[u32] {
        let by_form = self.spellings.get_or_init(|| self.by_folded_form());
        by_form.get(&folded(name)).map_or(&[], Vec::as_slice)
    }

    /// Those of `spellings` with the same case.
    #[must_use]
    pub fn compositions(&self, text: &str) -> Vec<u32> {
        let same =
            |number: &u32| (self.string(*number)).is_some_and(|stored| same_composed(stored, text));
        self.spellings(text).iter().copied().filter(same).collect()
    }

    fn by_folded_form(&self) -> HashMap<String, Vec<u32>> {
        let texts = self.column::<u64>(Section::StringOffsets).len() - 1;
        let mut used = vec![false; texts];
        for section in NAMES.into_iter().chain(LISTS_OF_NAMES) {
            for number in self.column::<u32>(section) {
                if *number != NO_STRING {
                    used[*number as usize] = true;
                }
            }
        }
        for [norm, _] in self.column::<[u32; 2]>(Section::Names) {
            used[*norm as usize] = true;
        }
        let mut by_form: HashMap<String, Vec<u32>> = HashMap::new();
        for number in (0..texts as u32).filter(|number| used[*number as usize]) {
            if let Some(text) = self.string(number) {
                by_form.entry(folded(text)).or_default().push(number);
            }
        }
        by_form
    }
}
