"""The language of a text, where it is certain by its letters or its function words.

Letters of another script than Latin name their language or, where several share it, the script.
Latin letters name none: there, words without content do (`data/function_words.json`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from vestig.language.text_forms import TextCache, word_list

ENGLISH: Final = "English"
JAPANESE: Final = "Japanese"
HAN: Final = "Chinese characters"
_KOREAN: Final = "Korean"
_KANA: Final = "kana"
# and all scripts that are not named here
_LATIN: Final = "Latin"
# Blocks of letters: first and last code point, script.
_BLOCKS: Final = (
    (0x0370, 0x03FF, "Greek"),
    (0x0400, 0x052F, "Cyrillic"),
    (0x0590, 0x05FF, "Hebrew"),
    (0x0600, 0x06FF, "Arabic"),
    (0x0750, 0x077F, "Arabic"),
    (0x0900, 0x097F, "Devanagari"),
    (0x0E00, 0x0E7F, "Thai"),
    (0x1100, 0x11FF, _KOREAN),
    (0x1F00, 0x1FFF, "Greek"),
    (0x3005, 0x3005, HAN),
    (0x3041, 0x30FF, _KANA),
    (0x3131, 0x318E, _KOREAN),
    (0x3400, 0x9FFF, HAN),
    (0xAC00, 0xD7A3, _KOREAN),
    (0xF900, 0xFAFF, HAN),
    (0xFF66, 0xFF9D, _KANA),
    (0x20000, 0x3FFFF, HAN),
)
_OTHER_SCRIPTS: Final = chr(_BLOCKS[0][0])
# Of a longer text this many characters at each end are read.
_END_CHARS: Final = 60
# Of the kana and Chinese characters of a Japanese text so many are kana at least.
_KANA_SHARE_MIN: Final = 0.2
_PUNCTUATION: Final = ".,;:!?…()[]\"'«»„“”‚‘’¿¡"  # noqa: RUF001
# Articles that several languages but English have, which are in no list of one language.
_ARTICLES: Final = frozenset(
    word_list("le la lo il un une uno una der das den dem des du de del el")
)
_FILE: Final = Path(__file__).parents[1] / "data" / "function_words.json"


def language_of(text: str) -> str | None:
    """Return the language of a text, or the script of more than half of its letters where several
    languages share that; None where neither is certain.

    A text in Latin letters is of the language of which it has two different function words, and
    more than twice as many as of any other; words that two languages of the lists have, or that
    programming languages have, count for none. Of a text of more than 120 characters the 60 at each
    end are read.

    Example:
        >>> language_of("Where does the key hang?"), language_of("Der Schlüssel ist im Schuppen.")
        ('English', 'German')
        >>> language_of("Ключ под ковриком"), language_of("鍵はマットの下です")
        ('Cyrillic', 'Japanese')
        >>> language_of("gate code 4471") is None
        True
    """
    if len(text) > 2 * _END_CHARS:
        text = f"{text[:_END_CHARS]} {text[-_END_CHARS:]}"
    latin = text.isascii() or max(text) < _OTHER_SCRIPTS
    script = _LATIN if latin else _script_of(text)
    return _by_function_words(text) if script == _LATIN else script


def differ(one: str | None, other: str | None) -> bool:
    """Return whether two texts of these languages are certainly in two languages: Japanese may be
    written in Chinese characters alone.

    Example:
        >>> differ("English", "German"), differ("English", None), differ(JAPANESE, HAN)
        (True, False, False)
    """
    known = one is not None and other is not None and one != other
    return known and {one, other} != {JAPANESE, HAN}


def is_latin(text: str) -> bool:
    """Return whether more than half of the letters of a text are Latin ones.

    Example:
        >>> is_latin("Straße"), is_latin("Дом")
        (True, False)
    """
    return text.isascii() or _script_of(text) == _LATIN


def is_english(text: str) -> bool:
    """Return whether a text has function words of English and none of another language.

    Example:
        >>> is_english("The path is long."), is_english("Der Weg ist lang."), is_english("5 km")
        (True, False, False)
    """
    return _of_function_words(text) == {ENGLISH}


def touched_languages(text: str) -> frozenset[str]:
    """Return the languages that a text has function words of; none where English is among them.

    Example:
        >>> touched_languages("Wann öffnet das Bad?"), touched_languages("When is und open?")
        (frozenset({'German'}), frozenset())
    """
    found = _of_function_words(text)
    return frozenset() if ENGLISH in found else found


def may_be_english(words: Iterable[str]) -> bool:
    """Return whether of the words of a text as many are function words of English as words that
    only others have: function words, articles, and lower-case words with other letters than A to Z.

    Example:
        >>> may_be_english(["four", "chairs"]), may_be_english(["le", "four", "chauffe"])
        (True, False)
    """
    own = _own_words()
    english = foreign = 0
    for written in words:
        word = written.lower()
        language = own.get(word)
        english += language == ENGLISH
        accented = not word.isascii() and word.isalpha() and written == word
        foreign += language not in (None, ENGLISH) or word in _ARTICLES or accented
    return english >= foreign


def begins_with_function_word(text: str) -> bool:
    """Return whether the first of several words is a function word of a language but English.

    Example:
        >>> [begins_with_function_word(text) for text in ("Welchen Schlüssel", "Ada Lovelace")]
        [True, False]
    """
    first, _, rest = text.partition(" ")
    return bool(rest) and is_foreign_function_word(first)


def is_foreign_function_word(word: str) -> bool:
    """Return whether a word is a function word of a language but English.

    Example:
        >>> [is_foreign_function_word(word) for word in ("Welche", "Kamera", "which")]
        [True, False, False]
    """
    return _own_words().get(word.lower(), ENGLISH) != ENGLISH


def is_function_word(word: str, language: str | None) -> bool:
    """Return whether a word is a function word of this language, which is not English.

    Example:
        >>> [is_function_word(word, "German") for word in ("Welche", "ist", "Kamera")]
        [True, True, False]
    """
    return language not in (None, ENGLISH) and _own_words().get(word.lower()) == language


def _script_of(text: str) -> str | None:
    """The script of more than half of the letters."""
    of_letters = [script for script in map(_SCRIPTS.__getitem__, text) if script is not None]
    count = {script: of_letters.count(script) for script in set(of_letters)}
    half, kana = len(of_letters) / 2, count.get(_KANA, 0)
    if kana and (east := kana + count.get(HAN, 0)) > half:
        return JAPANESE if kana >= _KANA_SHARE_MIN * east else None
    return next((script for script, times in count.items() if times > half), None)


def _script(char: str) -> str | None:
    """The script of a letter; None of another character."""
    if not char.isalpha():
        return None
    point = ord(char)
    return next((script for first, last, script in _BLOCKS if first <= point <= last), _LATIN)


_SCRIPTS: Final = TextCache(_script)


def _of_function_words(text: str) -> frozenset[str]:
    """The languages of the function words of a text."""
    own = _own_words()
    words = {word.strip(_PUNCTUATION) for word in text.lower().split()}
    return frozenset(own[word] for word in words if word in own)


def _by_function_words(text: str) -> str | None:
    own = _own_words()
    words = {word.strip(_PUNCTUATION) for word in text.lower().split()}
    found = [own[word] for word in words if word in own]
    if len(found) < 2:
        return None
    (best, count), *others = Counter(found).most_common(2)
    return best if count >= 2 and all(count > 2 * less for _, less in others) else None


@cache
def _own_words() -> Mapping[str, str]:
    """Function word → its language."""
    lists = msgspec.json.decode(_FILE.read_bytes(), type=dict[str, list[str]])
    return {word: name for name, words in lists.items() for word in words}
