"""Results of the calls on rules."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from vestig.results import SequenceResult, listing
from vestig.types import Degradation, MaskedSecret, _Value

# States of a rule whose memory is active, and holds no more or not yet.
ENDED: Final = "ENDED"
ANNOUNCED: Final = "ANNOUNCED"


class Rule(_Value, frozen=True, kw_only=True):
    """A rule: the memory of an id, and what it binds.

    It binds while `status` is ACTIVE: ENDED says that its memory holds no more, ANNOUNCED, not
    yet. `when` and `unless` stand as they were written. `fired`: how many actions met it;
    `gave_way`: how many met its exception too; `denied`: how many it refused. `masked`: secrets
    that were taken out of the text as it was added. `warnings`: when it begins or ends to bind,
    that it can fire at no action, where that is certain, and what is hardly meant as it is written.
    """

    id: str
    text: str
    when: str
    do: str
    unless: str | None = None
    scope: str | None = None
    namespace: str
    status: str
    created_at: datetime
    fired: int = 0
    gave_way: int = 0
    denied: int = 0
    last_fired_at: datetime | None = None
    masked: tuple[MaskedSecret, ...] = ()
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


class RulePage(SequenceResult[Rule], frozen=True, kw_only=True):
    """One page of rules, the oldest first; a sequence of `Rule`.

    `total`: how many there are in all; `seq`: the state that was read.
    """

    rules: tuple[Rule, ...]
    total: int
    offset: int
    seq: int

    def __repr__(self) -> str:
        return listing(f"<RulePage {len(self)} of {self.total}, from {self.offset}>", self.rules)


class RuleFired(_Value, frozen=True, kw_only=True):
    """A rule that an action meets.

    `do`: what is done, `ask` in the place of `deny` where it is not `certain`. `command`: the one
    of the action's line that it is about. `certain`: false where the line runs what cannot be read
    from it, so that the rule may be met.
    """

    id: str
    text: str
    do: str
    command: str | None = None
    certain: bool = True


class RuleCheck(_Value, frozen=True, kw_only=True):
    """The decision of the rules about an action; false where no rule fires.

    `decision`: the strongest of `remind`, `ask` and `deny`; None where no rule fires. `gave_way`:
    rules whose exception holds. `unread`: why the line may run commands that are not known.
    """

    decision: str | None = None
    fired: tuple[RuleFired, ...] = ()
    gave_way: tuple[str, ...] = ()
    unread: str | None = None
    degraded: tuple[Degradation, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fired)


class RuleSuggestion(_Value, frozen=True, kw_only=True):
    """A memory that sounds like a rule, with a condition that may fit; None where none follows from
    its words, and `why`. Nothing binds yet."""

    memory_id: str
    text: str
    when: str | None
    do: str
    why: str | None = None
    scope: str | None = None


class RuleSuggestions(SequenceResult[RuleSuggestion], frozen=True, kw_only=True):
    """Suggestions, the newest first, those without a condition last: a sequence.

    `read`: memories that were looked through.
    """

    suggestions: tuple[RuleSuggestion, ...]
    read: int

    def __repr__(self) -> str:
        return listing(f"<RuleSuggestions {len(self)}>", self.suggestions)
