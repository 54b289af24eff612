//! Values below a name: cells of a table under the name of a secret, and the data of a Secret of
//! Kubernetes.

use super::Finding;
use super::identifiers::is_reference;
use super::lists::{List, is_in};
use super::named::{Name, name_of};
use super::values::{Link, is_placeholder, is_secret};

const HEADER_BYTES_MAX: usize = 400;
const CELL_BYTES_MAX: usize = 48;
const COLUMNS_MAX: usize = 40;
const SEPARATORS: [char; 4] = ['|', '\t', ';', ','];
/// Of the values of a Secret: shorter ones are none.
const DATA_CHARS_LEAST: usize = 4;

/// The columns under the names of secrets.
struct Header {
    separator: char,
    count: usize,
    columns: Vec<(usize, Name)>,
}

/// Secrets below names, in order.
pub(super) fn find(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    if !text.contains('\n') {
        return found;
    }
    let mut header: Option<Header> = None;
    let mut start = 0;
    for piece in text.split_inclusive('\n') {
        let line = piece.trim_end_matches(['\n', '\r']);
        let rows = header.as_ref().map(|one| cells(line, one.separator));
        match (&header, rows) {
            (Some(one), Some(row)) if row.len() == one.count => add(&mut found, start, one, &row),
            _ => header = header_of(line),
        }
        start += piece.len();
    }
    if text.contains("Secret") {
        add_data(&mut found, text);
        found.sort_unstable_by_key(|one| one.start);
    }
    found
}

/// (start, text) of each cell of a line, white space and quotes around it left out.
fn cells(line: &str, separator: char) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for cell in line.split(separator).take(COLUMNS_MAX) {
        let signs = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '*' | '>');
        let inner = cell.trim_start_matches(signs);
        let start = at + cell.len() - inner.len();
        found.push((start, inner.trim_end_matches(signs)));
        at += cell.len() + separator.len_utf8();
    }
    found
}

fn header_of(line: &str) -> Option<Header> {
    if line.len() > HEADER_BYTES_MAX {
        return None;
    }
    let separator = SEPARATORS.into_iter().find(|sign| line.contains(*sign))?;
    let row = cells(line, separator);
    let plain = |text: &str| text.len() <= CELL_BYTES_MAX && !text.contains([':', '=', '"', '.']);
    if row.len() < 2 || !row.iter().all(|cell| plain(cell.1)) {
        return None;
    }
    // beside the column of who logs in, a name has no other meaning
    let users = row
        .iter()
        .any(|cell| is_in(List::Users, &cell.1.to_lowercase()));
    let named = |(at, cell): (usize, &(usize, &str))| {
        let name = name_of(cell.1)?;
        let shared = name.shared && !users;
        Some((at, Name { shared, ..name }))
    };
    let columns: Vec<_> = row.iter().enumerate().filter_map(named).collect();
    (!columns.is_empty()).then_some(Header {
        separator,
        count: row.len(),
        columns,
    })
}

fn add(found: &mut Vec<Finding>, line: usize, header: &Header, row: &[(usize, &str)]) {
    for (column, name) in &header.columns {
        let (start, value) = row[*column];
        if name.shared && is_reference(value) {
            continue;
        }
        if is_secret(value, false, Link::Assigned, name) {
            found.push(Finding {
                start: line + start,
                end: line + start + value.len(),
                rule: name.rule,
            });
        }
    }
}

/// Each value below `data:` or `stringData:` of a Secret.
fn add_data(found: &mut Vec<Finding>, text: &str) {
    let (mut secret, mut data, mut start) = (has_kind(text), None, 0);
    for piece in text.split_inclusive('\n') {
        let line = piece.trim_end_matches(['\n', '\r']);
        let inner = line.trim_start();
        let indent = line.len() - inner.len();
        if inner == "---" {
            secret = has_kind(&text[start + piece.len()..]);
            data = None;
        } else if matches!(inner, "data:" | "stringData:") {
            data = secret.then_some(indent);
        } else if data.is_some_and(|outer| indent <= outer) && !inner.is_empty() {
            data = None;
        } else if let (Some(_), Some((name, value))) = (data, inner.split_once(": ")) {
            let signs = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
            let value = value.trim_start_matches(signs);
            let at = start + line.len() - value.len();
            let value = value.trim_end_matches(signs);
            if value.chars().count() >= DATA_CHARS_LEAST
                && !name.contains(' ')
                && !value.starts_with('|')
                && !is_placeholder(value)
            {
                found.push(Finding {
                    start: at,
                    end: at + value.len(),
                    rule: "secret",
                });
            }
        }
        start += piece.len();
    }
}

/// Returns whether a document of YAML is a Secret.
fn has_kind(text: &str) -> bool {
    text.lines()
        .take_while(|line| *line != "---")
        .any(|line| line.trim() == "kind: Secret")
}
