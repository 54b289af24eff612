//! Shapes of identifiers: numbers, ids, tickets, names of things. A name that means nothing but a
//! secret (`password`, `api_key`) may have such a value; behind any other they are none.

use super::lists::{List, lists};
use super::random::{is_hex, is_uuid, shape};

/// Returns whether a token has a shape that is nearly always an identifier's: a number, a UUID, an
/// id that begins with its time, the number of a parcel, the address of a network card.
pub(super) fn is_identifier(token: &str) -> bool {
    is_number(token)
        || is_uuid(token)
        || is_timed(token)
        || is_object_id(token)
        || is_of_parcel(token)
        || is_of_interface(token)
        || is_of_instance(token)
}

/// Returns whether a token names a thing: a ticket, an algorithm, words and numbers with a joint.
pub(super) fn is_name(token: &str) -> bool {
    is_ticket(token) || is_algorithm(token) || is_compound(token)
}

/// `00340434161094042557`, `+46701234567`, `4711-0815`.
fn is_number(token: &str) -> bool {
    let digits = token.strip_prefix('+').unwrap_or(token);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.' | b':' | b'_'))
}

/// A ULID of these decades: 26 characters of its alphabet.
fn is_timed(token: &str) -> bool {
    let bytes = token.as_bytes();
    bytes.len() == 26
        && bytes[0] <= b'1'
        && bytes
            .iter()
            .all(|b| b.is_ascii_digit() || (b.is_ascii_uppercase() && !b"ILOU".contains(b)))
}

/// An id of a document: twelve bytes in hexadecimal, of which the first are the seconds since 1970.
fn is_object_id(token: &str) -> bool {
    let bytes = token.as_bytes();
    bytes.len() == 24
        && (b'4'..=b'7').contains(&bytes[0])
        && bytes
            .iter()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
}

/// `RR473124829SE`, `JJD000390007882823421`, `1Z999AA10123456784`.
fn is_of_parcel(token: &str) -> bool {
    const LETTERS_MAX: usize = 4;
    const DIGITS_LEAST: usize = 9;
    const CARRIER_BYTES: usize = 18;
    let capital = |c: char| c.is_ascii_uppercase();
    let inner = token.trim_start_matches(capital).trim_end_matches(capital);
    let first = token.len() - token.trim_start_matches(capital).len();
    let last = token.len() - first - inner.len();
    let numbered = (1..=LETTERS_MAX).contains(&first)
        && matches!(last, 0 | 2)
        && inner.len() >= DIGITS_LEAST
        && inner.bytes().all(|b| b.is_ascii_digit());
    let of_carrier = token.len() == CARRIER_BYTES && token.starts_with("1Z");
    numbered || of_carrier && token.bytes().all(is_capital_or_digit)
}

/// `00:1b:44:11:3a:b7`.
fn is_of_interface(token: &str) -> bool {
    const PAIRS: usize = 6;
    let separator = if token.contains(':') { ':' } else { '-' };
    token.split(separator).count() == PAIRS
        && token
            .split(separator)
            .all(|pair| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// `i-0123456789abcdef0`, as clouds count machines and networks.
fn is_of_instance(token: &str) -> bool {
    token.split_once('-').is_some_and(|(kind, number)| {
        (1..=2).contains(&kind.len())
            && kind.bytes().all(|b| b.is_ascii_lowercase())
            && matches!(number.len(), 8 | 17)
            && number.bytes().all(|b| b.is_ascii_alphanumeric())
            && is_hex(number)
    })
}

/// `WAY-1187`.
fn is_ticket(token: &str) -> bool {
    token.split_once('-').is_some_and(|(project, number)| {
        (2..=10).contains(&project.len())
            && (1..=6).contains(&number.len())
            && project.starts_with(|c: char| c.is_ascii_uppercase())
            && project.bytes().all(is_capital_or_digit)
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// `AWS4-HMAC-SHA256`.
pub(super) fn is_algorithm(token: &str) -> bool {
    const NAMES: [&str; 6] = ["SHA", "HMAC", "MD5", "RSA", "AES", "ECDSA"];
    const PART_BYTES_MAX: usize = 8;
    let mut parts = token.split('-');
    token.contains('-')
        && token.split('-').all(|part| {
            (1..=PART_BYTES_MAX).contains(&part.len()) && part.bytes().all(is_capital_or_digit)
        })
        && parts.any(|part| NAMES.iter().any(|name| part.starts_with(name)))
}

/// `D-PL-11120-01-00`: what an office hands out, a few capitals and two numbers at least.
pub(super) fn is_registered(token: &str) -> bool {
    const LETTERS_MAX: usize = 3;
    const DIGITS_MAX: usize = 6;
    let all = |part: &str, of: fn(&u8) -> bool| part.bytes().all(|b| of(&b));
    let number =
        |part: &str| (1..=DIGITS_MAX).contains(&part.len()) && all(part, u8::is_ascii_digit);
    let letters =
        |part: &str| (1..=LETTERS_MAX).contains(&part.len()) && all(part, u8::is_ascii_uppercase);
    let parts = || token.split(['-', '/', '.']);
    let numbers = parts().filter(|part| number(part)).count();
    let lead = parts().take_while(|part| letters(part)).count();
    (1..=2).contains(&lead) && numbers >= 2 && lead + numbers == parts().count()
}

/// `SiO2-Al2O3`: symbols of elements, one of two letters at least, each with its count.
pub(super) fn is_formula(token: &str) -> bool {
    const COUNT_DIGITS_MAX: usize = 3;
    let elements = lists().of(List::Elements);
    let (mut rest, mut long) = (token, false);
    while let Some(first) = rest.chars().next() {
        if matches!(first, '-' | '·') && rest.len() < token.len() {
            rest = &rest[first.len_utf8()..];
            if !rest.starts_with(|c: char| c.is_ascii_uppercase()) {
                return false;
            }
        }
        let symbol = [2, 1]
            .into_iter()
            .filter_map(|length| rest.get(..length))
            .find(|symbol| elements.contains(symbol));
        let Some(symbol) = symbol else {
            return false;
        };
        long |= symbol.len() == 2;
        let count = rest[symbol.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() - symbol.len() - count.len() > COUNT_DIGITS_MAX {
            return false;
        }
        rest = count;
    }
    long
}

/// `RES-2026-0417`, `48-AB/77`, `C01X00T47`, `azafrán-2026`: capitals and digits, or, with a joint,
/// numbers and one word.
pub(super) fn is_reference(token: &str) -> bool {
    const JOINTS: [char; 4] = ['-', '_', '.', '/'];
    // a question or an exclamation ends with its own sign
    let token = token.trim_start_matches('#').trim_end_matches(['?', '!']);
    let is_code = |part: &str| {
        let mut characters = part.chars();
        !part.is_empty() && characters.all(|c| c.is_uppercase() || c.is_ascii_digit())
    };
    let is_word = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        !word.is_empty() && word.chars().all(char::is_alphabetic)
    };
    let parts = || token.split(JOINTS);
    let words = parts().filter(|part| !is_code(part)).count();
    words <= usize::from(token.contains(JOINTS))
        && parts().all(|part| is_code(part) || is_word(part))
        && token.contains(|c: char| c.is_ascii_digit())
}

fn is_capital_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

/// `SCAN_IN_042`, `db-prd-1.waybill.internal`, a pod of Kubernetes: words, of which one reads like a
/// word, short numbers and codes.
fn is_compound(token: &str) -> bool {
    const JOINTS: [char; 3] = ['-', '_', '.'];
    let name = without_pod(token);
    (name.len() < token.len() || name.contains(JOINTS))
        && name.split(JOINTS).any(reads_like_a_word)
        && name.split(JOINTS).all(is_plain_part)
}

fn reads_like_a_word(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_alphabetic()) && shape(part).is_wordy()
}

/// A word, a number of at most eight digits, or a code such as `MMX1` and `v2`.
fn is_plain_part(part: &str) -> bool {
    const WORD_BYTES_MAX: usize = 16;
    const DIGITS_MAX: usize = 8;
    const CODE_LETTERS_MAX: usize = 4;
    const CODE_DIGITS_MAX: usize = 3;
    let digits = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = &part[..part.len() - digits.len()];
    let one_case = |text: &str| {
        text.bytes().all(|b| b.is_ascii_lowercase()) || text.bytes().all(|b| b.is_ascii_uppercase())
    };
    let word = one_case(letters)
        || letters.starts_with(|c: char| c.is_ascii_uppercase()) && one_case(&letters[1..]);
    let number = digits.bytes().all(|b| b.is_ascii_digit());
    !part.is_empty()
        && word
        && number
        && match (letters.len(), digits.len()) {
            (length, 0) => length <= WORD_BYTES_MAX,
            (0, count) => count <= DIGITS_MAX,
            (length, count) => length <= CODE_LETTERS_MAX && count <= CODE_DIGITS_MAX,
        }
}

/// A name without what Kubernetes puts behind it to name a pod: `-7d9f8b6c5d-x2k4q`.
fn without_pod(token: &str) -> &str {
    const HASH_BYTES: std::ops::RangeInclusive<usize> = 8..=10;
    const TAIL_BYTES: usize = 5;
    let safe = |text: &str| {
        text.bytes()
            .all(|b| b"bcdfghjklmnpqrstvwxz2456789".contains(&b))
    };
    let Some((rest, tail)) = token.rsplit_once('-') else {
        return token;
    };
    match rest.rsplit_once('-') {
        Some((name, hash))
            if tail.len() == TAIL_BYTES
                && HASH_BYTES.contains(&hash.len())
                && safe(tail)
                && safe(hash) =>
        {
            name
        }
        _ => token,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_shapes() {
        for id in [
            "00340434161094042557",
            "+46701234567",
            "01HQ3ZK8V9X2M4N6P8R0T2W4Y6",
            "507f1f77bcf86cd799439011",
            "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
            "RR473124829SE",
            "1Z999AA10123456784",
            "00:1b:44:11:3a:b7",
            "i-0123456789abcdef0",
        ] {
            assert!(is_identifier(id), "{id}");
        }
        for secret in [
            "9fK2mQ7xLw3Zt8RbV5nY",
            "d07f1f77bcf86cd799439011",
            "hunter2",
        ] {
            assert!(!is_identifier(secret), "{secret}");
        }
    }

    #[test]
    fn numbers_of_offices_and_formulas_have_shapes() {
        for number in ["D-PL-11120-01-00", "DE-123-45", "B/12.34"] {
            assert!(is_registered(number), "{number}");
        }
        for other in [
            "ABCD-1234-5678",
            "D-1234",
            "D-A1-12-34",
            "D-12-PL-34",
            "12-34",
        ] {
            assert!(!is_registered(other), "{other}");
        }
        for formula in ["SiO2-Al2O3-Fe2O3", "NaCl", "CuSO4·H2O", "C12H22ClO11"] {
            assert!(is_formula(formula), "{formula}");
        }
        for other in [
            "", "-NaCl", "NaCl-", "H2O", "Na2024Cl", "Harbor77", "9NaCl", "Nä",
        ] {
            assert!(!is_formula(other), "{other}");
        }
    }

    #[test]
    fn references_have_shapes() {
        for reference in [
            "RES-2026-0417",
            "ACE-500-VIRGEN",
            "HX7-991-ZQ",
            "48-AB/77",
            "9872023VH5797S0001WX",
            "C01X00T47",
            "2026-0417-Ñ",
            "azafrán-2026",
            "#2026/17",
        ] {
            assert!(is_reference(reference), "{reference}");
        }
        for other in [
            "",
            "perro88",
            "Perro88",
            "Perro!88x",
            "hafen-77-segel",
            "girasol",
            "a--1",
            "9fK2-77",
        ] {
            assert!(!is_reference(other), "{other}");
        }
    }

    #[test]
    fn names_are_put_together_of_words() {
        for name in [
            "WAY-1187",
            "AWS4-HMAC-SHA256",
            "SCAN_IN_042",
            "MMX1-evening",
            "db-prd-1.waybill.internal",
            "tracker-api-7d9f8b6c5d-x2k4q",
        ] {
            assert!(is_name(name), "{name}");
        }
        for secret in [
            "tulip2024x",
            "harbor-9f8e7d6c5b4a3f2e",
            "ABCD-1234-EFGH",
            "tulip-77Foxx9",
            "x2k4q-7d9f8b6c5d",
        ] {
            assert!(!is_name(secret), "{secret}");
        }
    }
}
