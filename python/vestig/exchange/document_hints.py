"""Texts that say more when they are imported otherwise than as documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vestig.exchange.document_text import DocumentText
from vestig.exchange.inputs import shell_word
from vestig.language.text_forms import count_of, sentences_by_line
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller

# Endings of files that have no markup.
_PLAIN: Final = ("txt", "text")
_CHAT_LINE: Final = lazy_pattern(
    r"(?im)^\W?\[?\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?\s\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[ap]\.?m\.?)?"
    r"\]?(?:\s[-–])?\s(?!(?:trace|debug|info|notice|warn(?:ing)?|error|critical|fatal)\b)[^\W\d][^:\n]{0,40}:\s"
)
_FILLED_LINE: Final = lazy_pattern(r"(?m)^.*\S")


def hints_on(text: DocumentText, name: str, passages: int) -> Iterator[str]:
    """Yields the warning about a text that is a chat, or a list of statements."""
    if text.format in _PLAIN and (turns := _chat_lines(text.text)):
        yield _as_chat(name, turns, passages)
    elif text.format in _PLAIN and (lines := sentences_by_line(text.text)) > passages:
        yield _by_line(name, lines, passages)


def _by_line(name: str, lines: int, passages: int) -> str:
    """The warning about a list of statements that is cut as a text is."""
    each = by_caller(
        f"store.commit_many(Path({name!r}).read_text().splitlines())",
        f"`jq -Rc '{{content: .}}' {shell_word(name)} | vestig import --format memories -`",
    )
    return (
        f"{name}: {lines} lines became {count_of(passages, 'passage')}; one memory a line: {each}"
    )


def _chat_lines(text: str) -> int:
    """How many lines begin with a day, a time and a name; 0 where fewer than two do, or not half of
    the lines that are not blank."""
    count = len(_CHAT_LINE.findall(text))
    return count if count > 1 and 2 * count >= len(_FILLED_LINE.findall(text)) else 0


def _as_chat(name: str, turns: int, passages: int) -> str:
    """The warning about a chat that is read as a text, without its times and speakers."""
    given = by_caller('format="messages"', "`vestig import --format messages FILE`")
    return (
        f"{name}: {turns} lines begin with a day, a time and a name, as in a chat, and became"
        f" {count_of(passages, 'passage')} of a document; speakers and times are read from lines"
        ' such as {"speaker": "Ann", "text": "…", "timestamp": "2026-01-05T10:00:00"} with ' + given
    )
