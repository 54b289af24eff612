//! Names of authors in a query, as whole words, in any case.

/// One lower-case letter a letter, so that places stay the same.
#[must_use]
pub fn folded(text: &str) -> Vec<char> {
    text.chars()
        .map(|letter| {
            let mut lower = letter.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(one), None) => one,
                _ => letter,
            }
        })
        .collect()
}

fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A text that is searched for names.
pub struct MentionedNames {
    letters: Vec<char>,
    /// Places where a word may begin.
    starts: Vec<usize>,
}

impl MentionedNames {
    /// From the text as it is.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let letters = folded(text);
        let begins = |at: &usize| *at == 0 || !in_word(letters[*at - 1]);
        let starts = (0..letters.len()).filter(begins).collect();
        Self { letters, starts }
    }

    /// Returns whether this name, [`folded`], is there as whole words.
    #[must_use]
    pub fn contains(&self, name: &[char]) -> bool {
        !name.is_empty()
            && self.starts.iter().any(|at| {
                let rest = &self.letters[*at..];
                rest.starts_with(name) && rest.get(name.len()).is_none_or(|next| !in_word(*next))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_in_any_case() {
        let said = MentionedNames::new("What did ANN say to Mary-Lou's dog?");
        let names = |name: &str| said.contains(&folded(name));
        assert!(names("Ann") && names("mary-lou") && names("Mary"));
        assert!(!names("An") && !names("nn") && !names("dogs") && !names(""));
        assert!(names("dog?") && !MentionedNames::new("").contains(&folded("Ann")));
    }
}
