"""Whether a text states something, asks or says nothing, slowly: sentences by a regular
expression."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from oracle_texts import FRAMING

import vestig
from vestig._core import tokens
from vestig.language.words import STOPWORDS

__all__ = ["stance"]

_WIDE = "\uff1f\u3002\uff01"
_SENTENCE = re.compile(rf".*?(?:[.!?…{_WIDE}؟](?=\s|$)|[{_WIDE}]|\n|$)", re.DOTALL)
_ASKING = ("?", "\uff1f", "؟")


@cache
def forms() -> dict[str, list[str]]:
    """Lines of the data file by section."""
    text = Path(vestig.__file__).with_name("data") / "no_statement.txt"
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.read_text("utf-8").splitlines():
        if line.startswith("["):
            name = line[1:-1]
            found[name] = []
        elif name and line and not line.startswith("#"):
            found[name].append(line)
    return found


def _words_of(section: str) -> set[str]:
    return {word for line in forms()[section] for word in line.split()}


def _lowered(text: str) -> str:
    return text.lower().replace("i\u0307", "i").replace("\u0131", "i")


def _plain(sentence: str) -> list[str]:
    words = (
        _lowered(word).translate(dict.fromkeys((0x2019, 0x2BC), "'")) for word in sentence.split()
    )
    stripped = []
    for word in words:
        letters = [at for at, char in enumerate(word) if char.isalnum()]
        if letters:
            stripped.append(word[letters[0] : letters[-1] + 1])
    return stripped


def _asks_by_form(words: list[str]) -> bool:
    verbs, leads = _words_of("verbs"), _words_of("leads")
    for at in range(min(3, len(words))):
        if not all(word in leads for word in words[:at]):
            break
        if words[at] in _words_of("contracted"):
            return True
        if words[at] in _words_of("question words") and verbs & set(words[at + 1 : at + 6]):
            return True
    if words[:1] and words[0] in verbs and words[1:2] and words[1] in _words_of("subjects"):
        return True
    if words[-1:] and words[-1] in _words_of("endings"):
        return True
    return any(words[: len(one.split())] == one.split() for one in forms()["requests"])


def _of_sentence(sentence: str) -> str:
    words = _plain(sentence)
    tells = ("," in sentence or ";" in sentence) and words[:1] and words[0] in _words_of("tellers")
    if sentence.endswith(_ASKING) and not tells:
        return "asks"
    spaced = f" {' '.join(words)} "
    if any(f" {one} " in spaced for one in forms()["refusals"]) and "but" not in words:
        return "empty"
    if not sentence.endswith((".", "!", ":", "…")) and _asks_by_form(words):
        return "asks"
    nothing = STOPWORDS | FRAMING | _words_of("remarks")
    return "states" if any(word not in nothing for word, *_ in tokens(sentence)) else "empty"


def stance(text: str) -> str:
    """`states`, `asks` or `empty`.

    Example:
        >>> stance("Who has it? No idea."), stance("Ingrid has it."), stance("I don't know.")
        ('asks', 'states', 'empty')
    """
    if len(text) > 120:
        return "states"
    found = {_of_sentence(one.strip()) for one in _SENTENCE.findall(text) if one.strip()}
    if "states" in found:
        return "states"
    return "asks" if "asks" in found else "empty"
