//! Classes of characters, and runs of them.

/// A set of ASCII characters, as a bit of the table.
pub(super) type Class = u16;

pub(super) const DIGIT: Class = 1;
pub(super) const HEX: Class = 1 << 1;
pub(super) const CAPITAL: Class = 1 << 2;
pub(super) const SMALL: Class = 1 << 3;
pub(super) const ALNUM: Class = 1 << 4;
pub(super) const WORD: Class = 1 << 5;
pub(super) const URL_SAFE: Class = 1 << 6;
pub(super) const DOTTED: Class = 1 << 7;
pub(super) const BASE64: Class = 1 << 8;
pub(super) const ANY: Class = 1 << 9;
/// Characters that a token of random characters is made of.
pub(super) const TOKEN: Class = 1 << 10;
/// Characters that a value without quotes is made of.
pub(super) const VALUE: Class = 1 << 11;
/// Everything but white space.
pub(super) const VISIBLE: Class = 1 << 12;
const CLASSES: usize = 13;

/// The class that the data file means by a letter.
pub(super) fn class_of_letter(letter: u8) -> Class {
    match letter {
        b'd' => DIGIT,
        b'h' => HEX,
        b'A' => CAPITAL,
        b'l' => SMALL,
        b'a' => ALNUM,
        b'w' => WORD,
        b'u' => URL_SAFE,
        b't' => DOTTED,
        b'b' => BASE64,
        _ => ANY,
    }
}

const fn classes_of(byte: u8) -> Class {
    let (digit, alnum) = (byte.is_ascii_digit(), byte.is_ascii_alphanumeric());
    let (dash, score, dot) = (byte == b'-', byte == b'_', byte == b'.');
    let base64 = byte == b'/' || byte == b'+' || byte == b'=';
    let mut found = 0;
    if digit {
        found |= DIGIT;
    }
    if byte.is_ascii_hexdigit() {
        found |= HEX;
    }
    if digit || byte.is_ascii_uppercase() {
        found |= CAPITAL;
    }
    if digit || byte.is_ascii_lowercase() {
        found |= SMALL;
    }
    if alnum {
        found |= ALNUM;
    }
    if alnum || score {
        found |= WORD;
    }
    if alnum || score || dash {
        found |= URL_SAFE;
    }
    if alnum || score || dash || dot {
        found |= DOTTED;
    }
    if alnum || base64 {
        found |= BASE64;
    }
    if alnum || base64 || score || dash || dot || byte == b'%' || byte == b':' || byte == b'~' {
        found |= ANY;
    }
    if alnum || score || dash || dot || byte == b'/' || byte == b'+' || byte == b'~' {
        found |= TOKEN;
    }
    if byte > b' ' && byte != 0x7f {
        found |= VISIBLE;
        if !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>') {
            found |= VALUE;
        }
    }
    found
}

static TABLE: [Class; 128] = {
    let mut table = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = classes_of(byte as u8);
        byte += 1;
    }
    table
};

/// Returns whether a byte is an ASCII character of a class.
pub(super) fn is_in(byte: u8, class: Class) -> bool {
    byte < 128 && TABLE[usize::from(byte)] & class != 0
}

/// Ends of runs. The last run of each class is remembered, so that asking for the end of one run
/// from each of its characters costs no more than going through it once.
pub(super) struct Runs<'a> {
    text: &'a str,
    known: [(usize, usize); CLASSES],
}

impl<'a> Runs<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            known: [(1, 0); CLASSES],
        }
    }

    /// The end of the run of a class that begins at `from`; `from` itself where there is none.
    pub(super) fn end(&mut self, class: Class, from: usize) -> usize {
        let place = class.trailing_zeros() as usize;
        let (start, end) = self.known[place];
        if start <= from && from < end {
            return end;
        }
        let end = from + self.length(class, from);
        self.known[place] = (from, end);
        end
    }

    fn length(&self, class: Class, from: usize) -> usize {
        let wide = class == VALUE || class == VISIBLE;
        let bytes = &self.text.as_bytes()[from..];
        let ascii = |byte: u8| is_in(byte, class) || (wide && byte >= 128);
        let mut length = bytes.iter().take_while(|&&byte| ascii(byte)).count();
        // white space and quotes beyond ASCII end a run too
        if wide && !bytes[..length].is_ascii() {
            let ends = |c: char| !c.is_ascii() && (c.is_whitespace() || is_quote(c));
            length = self.text[from..from + length].find(ends).unwrap_or(length);
        }
        length
    }
}

/// Returns whether a character is a space within a line.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{a0}' | '\u{202f}' | '\u{3000}')
}

/// Returns whether a character opens or closes a quotation.
pub(super) fn is_quote(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '`'
            | '“'
            | '”'
            | '„'
            | '‘'
            | '’'
            | '‚'
            | '«'
            | '»'
            | '‹'
            | '›'
            | '「'
            | '」'
    )
}

/// The character that closes a quotation opened by another; None where it opens none.
pub(super) fn closing(open: char) -> Option<&'static [char]> {
    Some(match open {
        '"' => &['"'],
        '\'' => &['\''],
        '`' => &['`'],
        '“' => &['”'],
        '„' => &['“', '”'],
        '‘' => &['’'],
        '‚' => &['‘', '’'],
        '«' => &['»'],
        '»' => &['«'],
        '‹' => &['›'],
        '「' => &['」'],
        _ => return None,
    })
}

/// The last bytes of a text before a place, so many at most, whole characters.
pub(super) fn just_before(text: &str, at: usize, most: usize) -> &str {
    let mut start = at.saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..at]
}

/// The first bytes of a text from a place on, so many at most, whole characters.
pub(super) fn just_behind(text: &str, at: usize, most: usize) -> &str {
    let mut end = text.len().min(at + most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[at..end]
}
