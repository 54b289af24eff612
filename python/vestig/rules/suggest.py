"""Stored texts that sound like rules, each with a condition that may fit."""

from __future__ import annotations

from typing import Final, NamedTuple

from vestig.calls.condition import CONDITION_CHARS_MAX
from vestig.calls.declaration import checked
from vestig.calls.memories import ListRequest
from vestig.calls.rules import SuggestRulesRequest
from vestig.language.text_forms import word_list
from vestig.lazy_pattern import lazy_pattern
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
# Programs whose names are no words of a sentence.
_PROGRAMS: Final = frozenset(
    word_list(
        "ansible apt apt-get aws az brew bun cargo chmod chown composer conda curl dd docker"
        " docker-compose dropdb eslint ffmpeg flyctl gcloud gh git gradle helm heroku kubectl ln"
        " mkfs mongosh mvn mysql mysqldump nginx npm npx pip pip3 pipx pnpm podman poetry prisma"
        " psql pulumi pytest rake redis-cli rm rsync ruff scp sed sqlite3 ssh sudo svn systemctl"
        " terraform tofu tsc twine uv vercel wget yarn"
    )
)
# Words behind a program that are no part of its command.
_ENDS_COMMAND: Final = frozenset(
    word_list(
        "a after against an and as at because before but by commands directly during everywhere"
        " first for from here if in inside instead into it locally manually of on only or outside"
        " since than that the this to unless until we when while with without you"
    )
)
_WORDS_MAX: Final = 4
# What is to be done is tied by one of these to the action that it binds; what is not to be done is
# limited by one.
_TIES: Final = frozenset(
    ("after", "before", "for", "if", "on", "once", "when", "whenever", "while", "with")
)
_LIMITS: Final = frozenset(("after", "before", "if", "unless", "until", "when", "without"))
_NAMES_NOTHING: Final = "it names no command in backquotes, no path and no program"
_NOT_TIED: Final = (
    "it says what to do: a condition would be on what comes before that, and it names no command,"
    " path or program there"
)
_WORDS: Final = lazy_pattern(r"[^\s,.;:]+")
# A path behind one of these is where the rule does not hold.
_EXCEPTS: Final = frozenset(("outside", "except", "besides", "but"))


def suggest(session: Session, asked: SuggestRulesRequest) -> RuleSuggestions:
    """The texts that sound like rules and are none yet, the newest first; changes nothing."""
    space = session.in_namespace(asked.namespace)
    with session.ledger.read() as view:
        known = {row.memory_id for row in rule_rows.of_namespace(view, space)}
    where = {} if asked.scope is None else {"where": {"scope": asked.scope, "unscoped": True}}
    found: list[RuleSuggestion] = []
    unclear: list[RuleSuggestion] = []
    read = 0
    while read < _READ_MAX and len(found) < asked.limit:
        given = {"limit": _PAGE, "offset": read, "namespace": space, **where}
        memories = page(session, checked(ListRequest, given))
        read += len(memories)
        for memory in memories:
            proposed = None if memory.id in known else proposal(memory.content)
            if proposed is not None:
                one = RuleSuggestion(
                    memory_id=memory.id, text=memory.content, when=proposed.when, do=proposed.do,
                    why=proposed.why, scope=memory.scope,
                )  # fmt: skip
                (found if one.why is None else unclear).append(one)
        if len(memories) < _PAGE:
            break
    return RuleSuggestions(suggestions=tuple([*found, *unclear][: asked.limit]), read=read)


class Proposal(NamedTuple):
    """A condition and what would be done; `why` there is no condition, where there is none."""

    when: str | None
    do: str
    why: str | None = None


def proposal(text: str) -> Proposal | None:
    """The proposal of a text that sounds like a rule: a test of what is in backquotes, of a path,
    else of a program with the words behind it, where that is the action which it binds. None: it
    does not sound like one.

    Example:
        >>> proposal("Never run `terraform apply` on a Friday").when
        'command ~ "terraform apply"'
        >>> proposal("Always run pytest before you call twine").when
        'command = twine'
        >>> proposal("Never migrate production by hand").why
        'it names no command in backquotes, no path and no program'
    """
    spaced = " ".join(text.split())
    lower = spaced.lower()
    for cue, do in CUES:
        at = f" {lower} ".find(f" {cue} ")
        if at >= 0:
            for part in _binding(spaced[:at], spaced[at + len(cue) :], cue, do):
                when = _quoted(part) or _path(part) or _program(part)
                if when and len(when) <= CONDITION_CHARS_MAX:
                    return Proposal(when, do)
            return Proposal(None, do, _NOT_TIED if do == "remind" else _NAMES_NOTHING)
    return None


def _binding(before: str, behind: str, cue: str, do: str) -> list[str]:
    """The parts of a text that name the action which it binds, the likelier first.

    Args:
        before: what stands before the words that bind; `behind`: what stands behind them.
    """
    lead = before.split(maxsplit=1)
    is_tied = bool(lead) and lead[0].lower() in _TIES
    if do == "remind":
        # what is named behind the cue obeys the rule
        at = next((one.end() for one in _WORDS.finditer(behind) if one[0].lower() in _TIES), None)
        tied = "" if at is None else behind[at:]
        return [tied, before if is_tied else ""]
    if cue == "only after":
        return [before]
    limit = next(
        (one.start() for one in _WORDS.finditer(behind) if one[0].lower() in _LIMITS), None
    )
    return [behind[:limit], "" if is_tied else before]


def _quoted(text: str) -> str:
    parts = text.split("`")
    inner = parts[1].strip() if len(parts) > 2 else ""
    if not inner or '"' in inner or "\\" in inner:
        return ""
    return _path_test(inner) if _is_path(inner) else f'command ~ "{inner}"'


def _path(text: str) -> str:
    words = [word.strip("'\"()").rstrip(".,;:!?'\"") for word in text.split()]
    at = next((at for at, word in enumerate(words) if _is_path(word)), None)
    if at is None or not _EXCEPTS.isdisjoint(map(str.lower, words[max(0, at - 2) : at])):
        return ""
    return _path_test(words[at])


def _path_test(path: str) -> str:
    """The test of a file, or of all that is in a folder."""
    within = f"{path}*" if path.endswith("/") else path
    return "" if '"' in path or "\\" in path else f'path ~ "{within}"'


def _is_path(word: str) -> bool:
    """Return whether a word names a file: it has a slash, or an ending."""
    if " " in word or "://" in word or len(word) < 3:
        return False
    name, dot, ending = word.rpartition(".")
    return "/" in word or (bool(dot) and ending.isalpha() and (not name or name[-1].isalnum()))


def _program(text: str) -> str:
    """The test of a program that a text names, with the words of its command."""
    words = [word.strip("'\"()") for word in text.split()]
    for at, word in enumerate(words):
        name = word.rstrip(".,;:!?")
        if name not in _PROGRAMS:
            continue
        said = [name]
        for following in words[at + 1 : at + _WORDS_MAX] if word == name else ():
            plain = following.rstrip(".,;:!?")
            if plain.lower() in _ENDS_COMMAND or not _is_argument(plain):
                break
            said.append(plain)
            if plain != following:
                break
        return f"command = {name}" if len(said) == 1 else f'command ~ "{"*".join(said)}"'
    return ""


def _is_argument(word: str) -> bool:
    return bool(word) and all(char.isascii() and (char.isalnum() or char in "-_") for char in word)
