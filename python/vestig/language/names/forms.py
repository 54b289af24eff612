"""Normal forms of a name: with capitals, in lower case, as the key of an entity, as aliases."""

from __future__ import annotations

from typing import Final

from vestig import _core
from vestig.errors import ValidationError
from vestig.language.text_forms import TextCache, word_list

TITLES: Final = frozenset(("dr", "mr", "ms", "mrs", "prof", "professor"))
LEGAL_FORMS: Final = frozenset(
    word_list(
        "ltd limited inc incorporated corp corporation llc gmbh plc llp ag kg ohg bv nv srl spa"
        " pty co"
    )
)


def norm_name(name: str) -> str:
    """A name in lower case, composed (NFC), without outer punctuation and repeated spaces: the part
    of a `norm_key` after the type.

    Raises:
        ValidationError: only whitespace.

    Example:
        >>> norm_name("PostgreSQL."), norm_name('"C++"'), norm_name(".NET")
        ('postgresql', 'c++', '.net')
    """
    return _NORM[name]


def cased_name(name: str) -> str:
    """A name without outer punctuation, inner runs of whitespace as one space, in its capitals.

    Raises:
        ValidationError: only whitespace.

    Example:
        >>> cased_name(" (Ada  Lovelace), ")
        'Ada Lovelace'
    """
    return _CASED[name]


def _visible(name: str, found: str) -> str:
    if not found:
        raise ValidationError("name", name, "a name with at least one visible character")
    return found


_CASED: Final = TextCache(lambda name: _visible(name, _core.cased_name(name)))
_TYPES: Final = TextCache(lambda type: type.strip().upper())
_NORM: Final = TextCache(lambda name: _visible(name, _core.normal_name(name)))


def norm_key(name: str, type: str) -> str:
    """The key of an entity, `TYPE:name`: entities of a namespace with equal keys are one.

    Raises:
        ValidationError: an empty name.

    Example:
        >>> norm_key("  Dr. Lovelace  ", "person"), norm_key("C#", "SKILL")
        ('PERSON:dr. lovelace', 'SKILL:c#')
    """
    return f"{_TYPES[type]}:{_NORM[name]}"


def aliases_of(name: str, type: str) -> tuple[str, ...]:
    """The name without the titles of a person or the legal form of an organisation.

    Example:
        >>> aliases_of("Prof. Dr. Ada Lovelace", "PERSON"), aliases_of("Acme Ltd.", "ORG")
        (('Ada Lovelace',), ('Acme',))
    """
    words = name.split()
    kept = list(words)
    if type == "PERSON":
        while kept and kept[0].rstrip(".").lower() in TITLES:
            kept.pop(0)
    elif type == "ORG":
        while kept and kept[-1].rstrip(".,").lower() in LEGAL_FORMS | {"&"}:
            kept.pop()
    stripped = " ".join(kept).rstrip(",")
    return (stripped,) if kept and len(kept) < len(words) and stripped else ()
