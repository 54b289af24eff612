"""Rules that bind actions: what is told, asked or refused before one happens."""

from typing import Annotated, Any, ClassVar, Final

from vestig.arguments import SCOPE_CHARS_MAX, text_argument
from vestig.calls.argument import (
    NO_FACTS,
    Argument,
    Choice,
    Facts,
    Flag,
    Id,
    Integer,
    Label,
    Text,
    Texts,
)
from vestig.calls.condition import CONDITION_CHARS_MAX, EXAMPLE, FIELDS, parse_condition
from vestig.calls.declaration import InNamespace, Reason, Request, given_all
from vestig.calls.scope import ScopeName
from vestig.errors import Description, ValidationError, kind_of

# What is done when a rule fires, the weakest first.
DECISIONS: Final = ("remind", "ask", "deny")
# Of an action: no part of it is too long to be decided, for one that is not decided happens.
ACTION_CHARS_MAX: Final = 16 * 1024 * 1024


class ConditionText(Argument, frozen=True, kw_only=True):
    """A condition of a rule, which stays as it was written. `empty`: "" is one that is taken
    away."""

    empty: bool = False
    brief: ClassVar = {"type": "string"}

    @property
    def expected(self) -> str:
        return f"a condition over {', '.join(FIELDS)}"

    def check(self, field: str, value: Any) -> Any:
        if not isinstance(value, str):
            raise ValidationError(field, kind_of(value), "text", f"an example: {EXAMPLE}")
        text = text_argument(field, value)
        if not (self.empty and text == ""):
            parse_condition(field, text)
        return text

    def schema(self, facts: Facts = NO_FACTS) -> dict[str, Any]:
        # parentheses within each other are beyond a pattern
        found = Text("", blank=False).schema() | {"maxLength": CONDITION_CHARS_MAX}
        return {"anyOf": [found, {"const": ""}]} if self.empty else found


_WHEN: Final = (
    "The condition over the action: tool, path, command, url and text with =, ~ (a glob), in, and,"
    " or, not; case counts but in text."
)
_DO: Final = "What is done: the model is reminded, the user is asked, or the action is denied."
_UNLESS: Final = "The condition under which the rule gives way."
_Text = Annotated[str, Text("The rule in words, as a memory.", blank=False, stdin=True)]
_When = Annotated[str, ConditionText(_WHEN, "--when")]
_Do = Annotated[str, Choice(_DO, "--do", words=DECISIONS, default_text="remind")]
_Scope = Annotated[
    str | None,
    ScopeName(
        "The project: its rules, and those without a scope. Absent: all.",
        "--scope",
        chars_max=SCOPE_CHARS_MAX,
        blank=False,
    ),
]


class AddRuleRequest(Request, frozen=True, kw_only=True):
    """A rule to keep."""

    call: ClassVar = "add"

    text: _Text
    when: _When
    do: _Do = "remind"
    unless: Annotated[str | None, ConditionText(_UNLESS, "--unless")] = None
    scope: Annotated[
        str | None,
        ScopeName(
            "The scope that it binds, such as a project. Absent: every one.",
            "--scope",
            chars_max=SCOPE_CHARS_MAX,
            blank=False,
        ),
    ] = None
    namespace: InNamespace = None


class ListRulesRequest(Request, frozen=True, kw_only=True):
    """One page of rules."""

    call: ClassVar = "list"

    scope: _Scope = None
    ended: Annotated[bool, Flag("With those that bind no more.", "--ended")] = False
    offset: Annotated[int, Integer("Rules to skip.", "--offset", least=0, default_text="0")] = 0
    limit: Annotated[
        int, Integer("Rules per page, at most 1000.", "--limit", most=1000, default_text="20")
    ] = 20
    namespace: InNamespace = None


_RuleId = Annotated[
    str,
    Id(
        "Id of the rule, or at least 8 characters of it.",
        listed=("store.rules.list()", "`vestig rule list`"),
    ),
]


class RuleRequest(Request, frozen=True, kw_only=True):
    """One rule."""

    call: ClassVar = "show"

    id: _RuleId
    namespace: InNamespace = None


# What an edit changes.
_CHANGES: Final = ("text", "when", "do", "unless")


class EditRuleRequest(Request, frozen=True, kw_only=True):
    """Changes of a rule; what is absent stays."""

    call: ClassVar = "edit"
    rules: ClassVar = ({"anyOf": [given_all(name) for name in _CHANGES]},)

    id: _RuleId
    text: Annotated[
        str | None,
        Text("The rule in other words: a memory that supersedes the one before.", "--text"),
    ] = None  # fmt: skip
    when: Annotated[str | None, ConditionText(_WHEN, "--when")] = None
    do: Annotated[str | None, Choice(_DO, "--do", words=DECISIONS)] = None
    unless: Annotated[
        str | None, ConditionText(f"{_UNLESS} An empty text takes it away.", "--unless", empty=True)
    ] = None
    namespace: InNamespace = None

    def __post_init__(self) -> None:
        if all(getattr(self, name) is None for name in _CHANGES):
            raise ValidationError(
                "text", Description("nothing"), f"{', '.join(_CHANGES[:-1])} or {_CHANGES[-1]}"
            )


class RemoveRuleRequest(Request, frozen=True, kw_only=True):
    """A rule that ends."""

    call: ClassVar = "remove"

    id: _RuleId
    reason: Reason = None
    namespace: InNamespace = None


class ActionRequest(Request, frozen=True, kw_only=True):
    """An action that is about to happen."""

    call: ClassVar = "check"
    rules: ClassVar = ({"anyOf": [given_all(name) for name in FIELDS]},)

    tool: Annotated[
        str | None,
        Label(
            "The tool that acts, such as Bash or Edit.",
            "--tool",
            chars_max=ACTION_CHARS_MAX,
            blank=False,
        ),
    ] = None
    path: Annotated[
        tuple[str, ...] | None,
        Texts("The files that it reads or writes.", "--path", chars_max=ACTION_CHARS_MAX),
    ] = None
    command: Annotated[str | None, Text("The line for a shell.", "--command")] = None
    url: Annotated[
        str | None, Label("The address that it asks.", "--url", chars_max=ACTION_CHARS_MAX)
    ] = None
    text: Annotated[str | None, Text("The text that it writes or sends.", "--text")] = None
    scope: _Scope = None
    namespace: InNamespace = None

    def __post_init__(self) -> None:
        if all(getattr(self, name) is None for name in FIELDS):
            raise ValidationError("tool", Description("nothing"), f"any of {', '.join(FIELDS)}")


class SuggestRulesRequest(Request, frozen=True, kw_only=True):
    """Texts that sound like rules."""

    call: ClassVar = "suggest"

    scope: _Scope = None
    limit: Annotated[
        int, Integer("Most suggestions, at most 100.", "--limit", most=100, default_text="20")
    ] = 20
    namespace: InNamespace = None
