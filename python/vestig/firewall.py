"""The gate for texts that come in: secrets are kept out, and a store's own output is recognised.

Every text that may be stored, embedded, logged or sent to a model passes `without_secrets` (the
arguments of a call) or `masked_text` (one text) before anything else looks at it. `unframed` takes
off the frames of results: a frame is what the layouts and the context block write around the text
of a memory. A text in one is an echo where it is that memory's own; anything else is what the
caller wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestig._core import SECRET_RULES, SECRETS_VERSION, mask_secrets
from vestig.errors import ValidationError
from vestig.language.text_forms import one_line, single_spaced
from vestig.lazy_pattern import lazy_pattern
from vestig.types import MaskedSecret

__all__ = [
    "LIST_CHARS",
    "RULES",
    "SECRETS_VERSION",
    "Cleaned",
    "Memories",
    "Mode",
    "Secret",
    "SecretError",
    "Stored",
    "Unframed",
    "counted",
    "holds_marker",
    "masked_text",
    "may_hold_frames",
    "unframed",
    "without_secrets",
]


# --- secrets ----------------------------------------------------------------------------------

Mode = Literal["mask", "reject", "off"]
RULES: Final = tuple(SECRET_RULES)
# Names by which memories are found again: with another text in their place nobody would find them.
_REFUSED: Final = frozenset(("key", "tags"))
# Names of things: refused where a secret is beyond doubt, for ids may look as if they were random.
_LABELS: Final = frozenset(
    ("scope", "source", "actor", "agent", "session_id", "namespace", "channel_id")
)
_DOUBTFUL: Final = frozenset(("random", "password", "key", "token", "secret", "credential", "pin"))
# Values that are no text, or the id of something that is stored.
_UNREAD: Final = frozenset(
    ("id", "ids", "old", "new", "supersedes", "query_vector", "config", "profile", "on_commit")
)
# What stands in the place of a secret begins so.
MARKER: Final = "[secret:"
# Deeper values are refused by the check of the argument.
_DEPTH_MAX: Final = 64


class Secret(NamedTuple):
    """A secret in an argument as it was given. `place`: the argument and the characters in it, such
    as `content[34:42]`."""

    rule: str
    place: str


class Cleaned(NamedTuple):
    """`arguments`: with markers in the place of secrets; `secrets`: those that were found, in
    order; `refused`: the rule of the first one in `content`, where secrets are refused."""

    arguments: dict[str, Any]
    secrets: tuple[Secret, ...] = ()
    refused: str | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rule of each secret."""
        return tuple(one.rule for one in self.secrets)


def masked_text(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with `[secret:RULE]` in the place of each secret, and the rule of each, in order.
    A text without one is returned itself; masking twice changes nothing.

    Example:
        >>> masked_text("the password of the router is Kx9!mmQ2")
        ('the password of the router is [secret:password]', ('password',))
    """
    masked, found = _found(text)
    return masked, tuple(rule for rule, _, _ in found)


def _found(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """A text with markers; the rule, the begin and the end of each secret."""
    try:
        return mask_secrets(text)
    except UnicodeEncodeError:
        # a lone surrogate, with which no text is taken
        return text, []


def holds_marker(text: str) -> bool:
    """Return whether a text holds a marker of a secret, so that another one may have been another
    text before.

    Example:
        >>> holds_marker("the key is [secret:key]"), holds_marker("the key")
        (True, False)
    """
    return MARKER in text


def counted(secrets: Iterable[Secret]) -> tuple[MaskedSecret, ...]:
    """Secrets by rule, in the order of their first ones.

    Example:
        >>> counted((Secret("jwt", "content[0:9]"), Secret("jwt", "title[4:90]")))
        (MaskedSecret(rule='jwt', count=2, places=('content[0:9]', 'title[4:90]')),)
    """
    places: dict[str, list[str]] = {}
    for one in secrets:
        places.setdefault(one.rule, []).append(one.place)
    return tuple(
        MaskedSecret(rule=rule, count=len(found), places=tuple(found))
        for rule, found in places.items()
    )


def without_secrets(arguments: Mapping[str, Any], mode: Mode) -> Cleaned:
    """The arguments of a call, before they are checked, without secrets in any text of theirs.

    Every text is looked at, at any depth: of a mapping the names too, and each value as what its
    name says (`{"password": "tulip"}`). Ids are not.

    Args:
        arguments: by name, as the caller gave them.
        mode: `mask` puts a marker in the place of a secret; `reject` refuses it; `off` leaves all
            as it is.

    Raises:
        SecretError: a secret in `key` or `tags`, or one beyond doubt in a name such as `scope`;
            with `reject`, in any argument but `content`.

    Example:
        >>> given = {"content": "see metadata", "metadata": {"password": "tulip"}}
        >>> without_secrets(given, "mask").arguments["metadata"]
        {'password': '[secret:password]'}
    """
    if mode == "off":
        return Cleaned(dict(arguments))
    cleaned: dict[str, Any] = {}
    found: list[Secret] = []
    refused: str | None = None
    for name, value in arguments.items():
        own: list[Secret] = []
        cleaned[name] = value if name in _UNREAD else _masked(value, own, name, 0)
        rules = [one.rule for one in own]
        if not own:
            continue
        if name in _LABELS:
            sure = [rule for rule in rules if rule not in _DOUBTFUL]
            cleaned[name] = value
            if sure:
                raise SecretError(name, sure[0])
        elif name in _REFUSED or (mode == "reject" and name != "content"):
            raise SecretError(name, rules[0])
        else:
            refused = rules[0] if mode == "reject" else refused
            found += own
    return Cleaned(cleaned, tuple(found), refused)


class SecretError(ValidationError):
    """A secret in an argument that may not hold one; `rule` is that by which it was found."""

    def __init__(self, field: str, rule: str) -> None:
        self.rule = rule
        super().__init__(
            field,
            None,
            "",
            message=f"{field}: expected text without a secret, got one ({rule}); leave it out",
        )


def _masked(value: Any, found: list[Secret], place: str, depth: int) -> Any:
    """The value itself where it holds no secret, else a copy with markers; adds the secrets.

    Args:
        place: what leads to the value: `metadata.login`.
    """
    if isinstance(value, str):
        text, secrets = _found(value)
        found += (Secret(rule, f"{place}[{start}:{end}]") for rule, start, end in secrets)
        return text
    if depth > _DEPTH_MAX:
        return value
    before = len(found)
    if isinstance(value, Mapping):
        inner: Any = {}
        for name, item in value.items():
            shown = _masked(name, found, f"{place}.keys", depth)
            inner[shown] = _named(name, item, found, f"{place}.{shown}", depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        items = [_masked(item, found, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
        inner = tuple(items) if isinstance(value, tuple) else items
    elif isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        masked = {
            name: _masked(item, found, f"{place}.{name}", depth + 1)
            for name, item in fields.items()
        }
        return value if len(found) == before else msgspec.structs.replace(value, **masked)
    else:
        return value
    return value if len(found) == before else inner


def _named(name: Any, value: Any, found: list[Secret], place: str, depth: int) -> Any:
    """A value of a mapping, which may be a secret because of its name alone."""
    if not isinstance(name, str) or not isinstance(value, str) or '"' in value or "\n" in value:
        return _masked(value, found, place, depth)
    head = f'"{name}": "'
    text, secrets = _found(f'{head}{value}"')
    if secrets and text.startswith(head) and text.endswith('"'):
        found += (
            Secret(rule, f"{place}[{start - len(head)}:{end - len(head)}]")
            for rule, start, end in secrets
        )
        return text[len(head) : -1]
    return _masked(value, found, place, depth)


# --- frames -----------------------------------------------------------------------------------

# Characters of a text that layouts of one line show.
LIST_CHARS: Final = 100

_ID: Final = r"(?:mem_)?[0-9a-f]{8}[0-9a-f-]{0,28}"
# Most texts hold nothing that could be a frame.
_MAY_HOLD: Final = lazy_pattern(
    rf"^(?:[+~] )?\[{_ID}\]|^(?:ID: |Related: \[)mem_|^\(score=\d", re.MULTILINE
)
_HEADER: Final = lazy_pattern(rf"\[({_ID})\] \(score=[-+.\de]+, method=\w+(?:, [^()]*)?\)")
_COMPACT: Final = lazy_pattern(r"\(score=[-+.\de]+, age=[^,()]+, stability=\w+(?:, [^()]*)?\)")
_LISTED: Final = lazy_pattern(rf"ID: ({_ID})")
_RELATED: Final = lazy_pattern(rf"Related: \[({_ID})\](?: \((?:signal|date)=[^()]*\))? (.*)")
_QUOTED: Final = lazy_pattern(rf"(?:[+~] )?\[({_ID})\](.*)")
_EXPLAINED: Final = (
    "Reason: ", "Signals: ", "Above the pool: ", "Scores: ", "Path: ", "Steps: ", "TraceRank: ",
    "Flags: ", "Score: ", "Date: ", "Key: ",
)  # fmt: skip
_CONTENT: Final = "Content: "
_SEPARATOR: Final = "---"
# What Vestig says of a memory between its id and its text, if that does not begin with the speaker.
_SAID: Final = lazy_pattern(r"\d{4}-\d\d-\d\d\b|\(|, also \[|score \d|:")
# Lines of a result beside its frames.
_BESIDE: Final = lazy_pattern(
    r"(?:likely|doubtful) \(confidence \d\.\d\d\)|nothing close \(confidence \d\.\d\d\); nearest:"
    r"|nothing above \S+ \(best \S+\); nearest:|\d+ more left out\."
    r"|Quoted data(?: of \d{4}-\d\d-\d\d)?, not instructions\..*"
    r"|## (?:Session .*|No session.*) · \d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?"
)
# A date in brackets behind the words that mean it.
_DATE: Final = lazy_pattern(r" \[[^\[\]]*\d{4}[^\[\]]*\]")
_CUT: Final = lazy_pattern(r"…(?: \(show [^()]*\))?$")
# A text that was cut shows so many characters of a memory at least.
_CUT_CHARS_MIN: Final = 12


class Stored(NamedTuple):
    """A memory that a frame names. `speaker`: its author, role or quoted title, as lines of a
    context block write it."""

    id: str
    content: str
    speaker: str = ""


class Unframed(NamedTuple):
    """`text`: what the caller wrote; `echoes`: ids of the memories whose texts were taken out."""

    text: str
    echoes: tuple[str, ...]


class Memories(NamedTuple):
    """How memories of a namespace are looked up: by an id or its beginning, and by their text; None
    where there is none, or several begin so."""

    by_id: Callable[[str], Stored | None]
    by_text: Callable[[str], Stored | None]


class _Frame(NamedTuple):
    """`end`: the line behind it; `text`: what stands in it."""

    end: int
    text: str
    memory: Stored
    echo: bool


def may_hold_frames(text: str) -> bool:
    """Return whether a line of the text begins as a frame does.

    Example:
        >>> may_hold_frames("[0123abcd] Ada: the key is here"), may_hold_frames("the key")
        (True, False)
    """
    return ("[" in text or "(score=" in text or "ID: " in text) and bool(_MAY_HOLD.search(text))


def unframed(text: str, memories: Memories) -> Unframed:
    """A text without the frames of memories that there are, and without the echoes in them.

    Example:
        >>> key = Stored("mem_0123abcd", "the spare key lies under the pot")
        >>> known = Memories(lambda id: key if key.id.endswith(id) else None, lambda text: None)
        >>> unframed("I asked.\\n[0123abcd]: the spare key lies under the pot", known)
        Unframed(text='I asked.', echoes=('mem_0123abcd',))
    """
    lines = text.split("\n")
    # (line, None) as it stands, (text of a frame, frame)
    parts: list[tuple[str, _Frame | None]] = []
    at = 0
    while at < len(lines):
        frame = _frame_at(lines, at, memories)
        if frame is None:
            parts.append((lines[at], None))
            at += 1
        else:
            parts.append(("" if frame.echo else frame.text, frame))
            at = frame.end
    frames = [frame for _, frame in parts if frame is not None]
    if not frames:
        return Unframed(text, ())
    echoes = dict.fromkeys(frame.memory.id for frame in frames if frame.echo)
    return Unframed(_rest(parts), tuple(echoes))


def _rest(parts: Sequence[tuple[str, _Frame | None]]) -> str:
    kept: list[str] = []
    taken = False
    for at, (line, frame) in enumerate(parts):
        if _is_beside(parts, at) if frame is None else frame.echo:
            taken = True
        elif line.strip() or not (taken and kept and not kept[-1].strip()):
            # of blank lines around what was taken out, one stays
            kept.append(line)
            taken = taken and not line.strip()
    return "\n".join(kept).strip()


def _is_beside(parts: Sequence[tuple[str, _Frame | None]], at: int) -> bool:
    """Return whether a line belongs to the frames beside it."""
    line = parts[at][0].strip()
    if line == _SEPARATOR:
        return _next_frame(parts[:at][::-1]) or _next_frame(parts[at + 1 :])
    return (_BESIDE.fullmatch(line) or _COMPACT.fullmatch(line)) is not None


def _next_frame(parts: Sequence[tuple[str, _Frame | None]]) -> bool:
    """Return whether the first part that is not blank is a frame."""
    filled = (frame is not None for text, frame in parts if frame is not None or text.strip())
    return next(filled, False)


def _frame_at(lines: Sequence[str], at: int, memories: Memories) -> _Frame | None:
    line = lines[at].rstrip()
    if match := _HEADER.fullmatch(line):
        return _with_content(lines, at, memories.by_id(match[1]))
    if _COMPACT.fullmatch(line) and at + 1 < len(lines):
        text, end = _body(lines, at + 1, lines[at + 1], "  ")
        memory = memories.by_text(text)
        return None if memory is None else _Frame(end, text, memory, True)
    if match := _LISTED.fullmatch(line):
        return _with_content(lines, at, memories.by_id(match[1]))
    if match := _RELATED.fullmatch(line):
        memory = memories.by_id(match[1])
        echo = memory is not None and _is_shown(match[2], memory.content)
        return None if memory is None else _Frame(at + 1, match[2], memory, echo)
    if (match := _QUOTED.fullmatch(line)) and ":" in match[2]:
        return _quoted(lines, at, match[2], memories.by_id(match[1]))
    return None


def _with_content(lines: Sequence[str], at: int, memory: Stored | None) -> _Frame | None:
    """A frame whose text stands behind `Content:`."""
    place = at + 1
    while place < len(lines) and lines[place].startswith(_EXPLAINED):
        place += 1
    if memory is None or place == len(lines) or not lines[place].startswith(_CONTENT):
        return None
    text, end = _body(lines, place, lines[place][len(_CONTENT) :], "  ")
    return _Frame(end, text, memory, _is_shown(text, memory.content))


def _quoted(lines: Sequence[str], at: int, behind_id: str, memory: Stored | None) -> _Frame | None:
    """A line of a context block: what Vestig says of the memory, a colon, the text."""
    if memory is None:
        return None
    head = behind_id.lstrip()
    spoken = bool(memory.speaker) and head.startswith(memory.speaker)
    if not spoken and not _SAID.match(head):
        # words of the caller about the memory
        return None
    text, end = _body(lines, at, behind_id, "> ")
    own, said = _plain(memory.content), _plain(text)
    if said.endswith(own) and said[: -len(own)].rstrip().endswith(":"):
        return _Frame(end, text, memory, True)
    _, _, words = text.partition(":")
    return _Frame(end, words.strip(), memory, _is_cut(said, own))


def _body(lines: Sequence[str], at: int, first: str, mark: str) -> tuple[str, int]:
    """A text of several lines, each further one behind a mark, and the place behind it."""
    found = [_SEPARATOR if first == f"\\{_SEPARATOR}" else first]
    place = at + 1
    while place < len(lines):
        line = lines[place]
        # an editor may have taken the mark off a blank line
        blank = not line.strip() and place + 1 < len(lines) and lines[place + 1].startswith(mark)
        if not line.startswith(mark) and not blank:
            break
        found.append(line[len(mark) :])
        place += 1
    return "\n".join(found), place


def _plain(text: str) -> str:
    return _DATE.sub("", single_spaced(text))


def _is_shown(text: str, content: str) -> bool:
    """Return whether a text is what a layout shows of a memory: all of it, or its first
    characters."""
    said = single_spaced(text)
    return said in (single_spaced(content), one_line(content, LIST_CHARS))


def _is_cut(said: str, own: str) -> bool:
    """Return whether a line ends with the beginning of a memory's text, and a mark that it is
    cut."""
    mark = _CUT.search(said)
    if mark is None:
        return False
    shown = said[: mark.start()]
    starts = (place.end() for place in re.finditer(r":\s+", shown))
    return any(len(shown) - at >= _CUT_CHARS_MIN and own.startswith(shown[at:]) for at in starts)
