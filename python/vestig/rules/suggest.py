"""Stored texts that sound like rules, each with a condition that may fit."""

from __future__ import annotations

from typing import Final

from vestig.calls.condition import CONDITION_CHARS_MAX
from vestig.calls.declaration import checked
from vestig.calls.memories import ListRequest
from vestig.calls.rules import SuggestRulesRequest
from vestig.memories.read import page
from vestig.rules.values import RuleSuggestion, RuleSuggestions
from vestig.session.session import Session
from vestig.store.records import rule_rows

# Words that bind, the longer ones first, and what would be done.
CUES: Final = (
    ("must not", "ask"), ("must never", "ask"), ("do not", "ask"), ("don't", "ask"),
    ("never", "ask"), ("only after", "ask"), ("always", "remind"), ("must", "remind"),
)  # fmt: skip
_PAGE: Final = 1_000
_READ_MAX: Final = 20_000
_WORD_CHARS_MIN: Final = 4
_WORDS_MAX: Final = 2
_NOT_WORDS: Final = frozenset(
    ("that", "this", "with", "from", "when", "into", "have", "been", "before", "after", "without",
     "until", "unless", "directly", "hand", "them", "they", "their", "your", "there", "only",
     "must", "never", "always", "please", "every", "each", "should", "would", "will")
)  # fmt: skip


def suggest(session: Session, asked: SuggestRulesRequest) -> RuleSuggestions:
    """The texts that sound like rules and are none yet, the newest first; changes nothing."""
    space = session.in_namespace(asked.namespace)
    with session.ledger.read() as view:
        known = {row.memory_id for row in rule_rows.of_namespace(view, space)}
    where = {} if asked.scope is None else {"where": {"scope": asked.scope, "unscoped": True}}
    found: list[RuleSuggestion] = []
    read = 0
    while read < _READ_MAX and len(found) < asked.limit:
        given = {"limit": _PAGE, "offset": read, "namespace": space, **where}
        memories = page(session, checked(ListRequest, given))
        read += len(memories)
        for memory in memories:
            proposed = None if memory.id in known else proposal(memory.content)
            if proposed is not None and len(found) < asked.limit:
                when, do = proposed
                found.append(
                    RuleSuggestion(
                        memory_id=memory.id, text=memory.content, when=when, do=do,
                        scope=memory.scope,
                    )
                )  # fmt: skip
        if len(memories) < _PAGE:
            break
    return RuleSuggestions(suggestions=tuple(found), read=read)


def proposal(text: str) -> tuple[str, str] | None:
    """A condition and what would be done, for a text that sounds like a rule: of what stands in
    backquotes, of a path, else of the words behind the one that binds. None for other texts.

    Example:
        >>> proposal("Never run `terraform apply` on a Friday")
        ('command ~ "terraform apply"', 'ask')
        >>> proposal("Never migrate production by hand"), proposal("The boiler is drained")
        (('command ~ "migrate*production"', 'ask'), None)
    """
    spaced = " ".join(text.split())
    lower = spaced.lower()
    for cue, do in CUES:
        at = f" {lower} ".find(f" {cue} ")
        if at >= 0:
            when = _quoted(spaced) or _path(spaced) or _words(lower[at + len(cue) :])
            return None if not when or len(when) > CONDITION_CHARS_MAX else (when, do)
    return None


def _quoted(text: str) -> str:
    parts = text.split("`")
    inner = parts[1].strip() if len(parts) > 2 else ""
    if not inner or '"' in inner or "\\" in inner:
        return ""
    return f'path ~ "{inner}"' if _is_path(inner) else f'command ~ "{inner}"'


def _path(text: str) -> str:
    words = (word.strip(".,;:!?()'\"") for word in text.split())
    found = next((word for word in words if _is_path(word)), "")
    return f'path ~ "{found}"' if found and '"' not in found and "\\" not in found else ""


def _is_path(word: str) -> bool:
    """Return whether a word names a file: it has a slash, or an ending."""
    if " " in word or "://" in word or len(word) < 3:
        return False
    name, dot, ending = word.rpartition(".")
    return "/" in word or (bool(dot) and ending.isalpha() and (not name or name[-1].isalnum()))


def _words(text: str) -> str:
    words = [
        "".join(char for char in word if char.isalnum() or char in "-_") for word in text.split()
    ]
    useful = [w for w in words if len(w) >= _WORD_CHARS_MIN and w not in _NOT_WORDS][:_WORDS_MAX]
    return f'command ~ "{"*".join(useful)}"' if useful else ""
