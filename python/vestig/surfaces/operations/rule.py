"""The operations on rules: what is told, asked or refused before an action happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import rules
from vestig.language.text_forms import escaped_breaks, one_line, row
from vestig.surfaces.operation import Call, Operation, on_screen

if TYPE_CHECKING:
    from vestig.memories.states import StateChange
    from vestig.rules.values import Rule, RuleCheck, RulePage, RuleSuggestions

_SNIPPET_CHARS: Final = 80
_NOT_FIRED: Final = "No rule fires."


def _add(call: Call) -> Any:
    given = dict(call.args)
    if "when" not in given:
        from vestig.errors import Description, ValidationError

        expected = rules.ConditionText("").expected
        raise ValidationError("when", Description("nothing"), expected, "--when takes it")
    return call.store.rules.add(given.pop("text"), given.pop("when"), **given)


def _shown(rule: Rule, _: Mapping[str, Any]) -> str:
    last = "never" if rule.last_fired_at is None else f"{rule.last_fired_at:%Y-%m-%d %H:%M:%S}"
    lines = [
        f"Rule {rule.id} ({rule.status})",
        f"  text    {escaped_breaks(rule.text)}",
        f"  when    {escaped_breaks(rule.when)}",
        f"  do      {rule.do}",
    ]
    if rule.unless is not None:
        lines.append(f"  unless  {escaped_breaks(rule.unless)}")
    if rule.scope is not None:
        lines.append(f"  scope   {escaped_breaks(rule.scope)}")
    lines.append(
        f"  fired {rule.fired}, gave way {rule.gave_way}, denied {rule.denied}, last fired {last}"
    )
    if rule.masked:
        lines.append(f"  masked: {', '.join(one.rule for one in rule.masked)}")
    return "\n".join(lines)


def _listed(page: RulePage, _: Mapping[str, Any]) -> str:
    if not page.rules:
        from vestig.surfaces.cli.render import nothing_on

        return nothing_on(page, "rules")
    lines = ["id | do | fired | gave way | denied | last fired | scope | when | text"]
    for one in page:
        last = "–" if one.last_fired_at is None else f"{one.last_fired_at:%Y-%m-%d %H:%M:%S}"
        counts = (str(one.fired), str(one.gave_way), str(one.denied))
        said = (one_line(one.when, _SNIPPET_CHARS), one_line(one.text, _SNIPPET_CHARS))
        lines.append(row(one.id, one.do, *counts, last, one.scope or "–", *said))
    last_place = page.offset + len(page)
    if last_place < page.total:
        lines.append(
            f"{page.offset + 1} to {last_place} of {page.total}; --offset {last_place} goes on"
        )
    return "\n".join(lines)


def _removed(done: StateChange, _: Mapping[str, Any]) -> str:
    return f"Rule ended: {done.memory_id}"


def _checked(found: RuleCheck, _: Mapping[str, Any]) -> str:
    lines = [] if found.decision is None else [f"Decision: {found.decision}"]
    if found.unread is not None:
        lines.append(f"  What the line runs is not certain: {escaped_breaks(found.unread)}")
    for one in found.fired:
        about = "" if one.command is None else f" at: {one_line(one.command, _SNIPPET_CHARS)}"
        perhaps = "" if one.certain else " (perhaps)"
        lines.append(f"  {one.do}{perhaps} {one.id} {one_line(one.text, _SNIPPET_CHARS)}{about}")
    lines += [f"  gave way {id}" for id in found.gave_way]
    lines += [f"  {one.detail}" for one in found.degraded]
    return "\n".join(lines if found.decision is not None else [_NOT_FIRED, *lines])


def _suggested(found: RuleSuggestions, _: Mapping[str, Any]) -> str:
    if not found.suggestions:
        return f"No text sounds like a rule, of {found.read}."
    lines = ["Nothing of this binds; `vestig rule add TEXT --when CONDITION --do DO` makes it so."]
    for one in found:
        lines.append(f"{one.memory_id} {one_line(one.text, _SNIPPET_CHARS)}")
        if one.when is None:
            lines.append(f"  no condition: {one.why}")
        else:
            lines.append(f"  --when '{escaped_breaks(one.when)}' --do {one.do}")
    return "\n".join(lines)


OPERATIONS: Final = (
    Operation(
        name="rule add",
        call=rules.AddRuleRequest,
        method="rules.add",
        run=_add,
        document="rule",
        text=_shown,
        without_store="make",
        writes=True,
    ),
    Operation(
        name="rule list",
        call=rules.ListRulesRequest,
        method="rules.list",
        document="rules",
        text=_listed,
        screen=on_screen("rules"),
        without_store="empty",
    ),
    Operation(
        name="rule show",
        call=rules.RuleRequest,
        method="rules.show",
        document="rule",
        text=_shown,
    ),
    Operation(
        name="rule edit",
        call=rules.EditRuleRequest,
        method="rules.edit",
        document="rule",
        text=_shown,
        writes=True,
    ),
    Operation(
        name="rule remove",
        call=rules.RemoveRuleRequest,
        method="rules.remove",
        document="state",
        text=_removed,
        writes=True,
    ),
    Operation(
        name="rule check",
        call=rules.ActionRequest,
        method="rules.check",
        document="check",
        text=_checked,
        without_store="empty",
        writes=True,
    ),
    Operation(
        name="rule test",
        route="POST rule/test",
        call=rules.ActionRequest,
        method="rules.test",
        document="check",
        text=_checked,
        without_store="empty",
    ),
    Operation(
        name="rule suggest",
        call=rules.SuggestRulesRequest,
        method="rules.suggest",
        document="suggestions",
        text=_suggested,
        without_store="empty",
    ),
)
