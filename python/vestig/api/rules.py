"""`store.rules`: what is told, asked or refused before an action happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vestig.api.guards import CallsOfGroup, names_faults_of_methods
from vestig.api.views import Binding, binds_methods
from vestig.calls.declaration import checked, given
from vestig.calls.filter import Words
from vestig.calls.rules import (
    ActionRequest,
    AddRuleRequest,
    EditRuleRequest,
    ListRulesRequest,
    RemoveRuleRequest,
    RuleRequest,
    SuggestRulesRequest,
)
from vestig.session.forks import apart_from_forks_of_methods
from vestig.session.session import Session

if TYPE_CHECKING:
    from vestig.memories.states import StateChange
    from vestig.rules.values import Rule, RuleCheck, RulePage, RuleSuggestions


@names_faults_of_methods
@apart_from_forks_of_methods
@binds_methods
class Rules(CallsOfGroup):
    """Rules of one open store, as `store.rules`: memories that bind actions."""

    def __init__(self, session: Session, binding: Binding | None = None) -> None:
        self._session = session
        self._binding = binding

    def add(
        self,
        text: str,
        when: str,
        do: str = "remind",
        *,
        unless: str | None = None,
        scope: str | None = None,
        namespace: str | None = None,
    ) -> Rule:
        """Keeps a rule: a memory of its text, which binds from now on. The same rule again changes
        nothing.

        Args:
            text: The rule in words, as a memory.
            when: The condition over the action: tool, path, command, url and text with =, ~ (a
                glob), in, and, or, not; case counts but in text.
            do: What is done: the model is reminded, the user is asked, or the action is denied.
            unless: The condition under which the rule gives way.
            scope: The scope that it binds, such as a project. Absent: every one.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: a condition that cannot be read.
            ConflictError: the text is a rule already that says something else.
            HygieneError: the text is none that is kept.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     text = "Never migrate production by hand"
            ...     rule = store.rules.add(text, 'command ~ "migrate*prod*"', "ask")
            ...     found = store.rules.check(tool="Bash", command="sudo rake db:migrate ENV=prod")
            ...     found.decision, found.fired[0].text
            ('ask', 'Never migrate production by hand')
        """
        asked = checked(AddRuleRequest, given(locals()))
        from vestig.rules import stored

        return stored.add(self._session, asked)

    def list(
        self,
        *,
        scope: str | None = None,
        ended: bool = False,
        offset: int = 0,
        limit: int = 20,
        namespace: str | None = None,
    ) -> RulePage:
        """One page of rules with their counts, the oldest first.

        Args:
            scope: The project: its rules, and those without a scope. Absent: all.
            ended: With those that bind no more.
            offset: Rules to skip.
            limit: Rules per page, at most 1000.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(ListRulesRequest, given(locals()))
        from vestig.rules import stored

        return stored.page(self._session, asked)

    def show(self, id: str, *, namespace: str | None = None) -> Rule:
        """One rule with its counts, an ended one too.

        Args:
            id: Id of the rule, or at least 8 characters of it.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: the memory has no rule.
        """
        asked = checked(RuleRequest, given(locals()))
        from vestig.rules import stored

        return stored.show(self._session, asked)

    def edit(
        self,
        id: str,
        *,
        text: str | None = None,
        when: str | None = None,
        do: str | None = None,
        unless: str | None = None,
        namespace: str | None = None,
    ) -> Rule:
        """Changes a rule. Other words become the memory that supersedes the one before, with its
        counts; the rule binds all the while.

        Args:
            id: Id of the rule, or at least 8 characters of it.
            text: The rule in other words: a memory that supersedes the one before.
            when: The condition over the action: tool, path, command, url and text with =, ~ (a
                glob), in, and, or, not; case counts but in text.
            do: What is done: the model is reminded, the user is asked, or the action is denied.
            unless: The condition under which the rule gives way. An empty text takes it away.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: the memory has no rule.
            ConflictError: the rule has ended, or the new text is a rule that says something else.
            ValidationError: a condition that cannot be read.
        """
        asked = checked(EditRuleRequest, given(locals()))
        from vestig.rules import stored

        return stored.edit(self._session, asked)

    def remove(
        self, id: str, *, reason: str | None = None, namespace: str | None = None
    ) -> StateChange:
        """Ends a rule: its memory is deprecated, and the history stays. `forget` deletes both.

        Args:
            id: Id of the rule, or at least 8 characters of it.
            reason: Why; kept in the event.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: the memory has no rule.
            ConflictError: it has ended already.
        """
        asked = checked(RemoveRuleRequest, given(locals()))
        from vestig.rules import stored

        return stored.remove(self._session, asked)

    def check(
        self,
        *,
        tool: str | None = None,
        path: Words = None,
        command: str | None = None,
        url: str | None = None,
        text: str | None = None,
        scope: str | None = None,
        namespace: str | None = None,
    ) -> RuleCheck:
        """Decides what becomes of an action that is about to happen, and counts it.

        Args:
            tool: The tool that acts, such as Bash or Edit.
            path: The files that it reads or writes.
            command: The line for a shell.
            url: The address that it asks.
            text: The text that it writes or sends.
            scope: The project: its rules, and those without a scope. Absent: all.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: no field of an action is given.
        """
        asked = checked(ActionRequest, given(locals()))
        from vestig.rules.check import check

        return check(self._session, asked, counts=True)

    def test(
        self,
        *,
        tool: str | None = None,
        path: Words = None,
        command: str | None = None,
        url: str | None = None,
        text: str | None = None,
        scope: str | None = None,
        namespace: str | None = None,
    ) -> RuleCheck:
        """Decides as `check` does, and counts nothing.

        Args:
            tool: The tool that acts, such as Bash or Edit.
            path: The files that it reads or writes.
            command: The line for a shell.
            url: The address that it asks.
            text: The text that it writes or sends.
            scope: The project: its rules, and those without a scope. Absent: all.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: no field of an action is given.
        """
        asked = checked(ActionRequest, given(locals()))
        from vestig.rules.check import check

        return check(self._session, asked, counts=False)

    def suggest(
        self, *, scope: str | None = None, limit: int = 20, namespace: str | None = None
    ) -> RuleSuggestions:
        """Stored texts that sound like rules (never, always, must, only after), each with a
        condition that may fit. Activates nothing.

        Args:
            scope: The project: its rules, and those without a scope. Absent: all.
            limit: Most suggestions, at most 100.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(SuggestRulesRequest, given(locals()))
        from vestig.rules.suggest import suggest

        return suggest(self._session, asked)
