"""Arguments that several operations on memories share."""

from __future__ import annotations

from typing import Any, Final

from vestig.surfaces.operations import Param, words
from vestig.types import Kind, OriginType, RetentionPolicy, Role, Stability, Trigger


def scoped(args: dict[str, Any]) -> dict[str, Any]:
    """`--unscoped` is the scope null, alone or beside named scopes."""
    given = dict(args)
    if given.pop("unscoped", False):
        named = given.get("scope")
        given["scope"] = None if named is None else [*named, None]
    return given


FORMATS: Final = ("text", "compact", "explain", "list", "json")
ORDERS: Final = ("created_at", "last_seen_at", "access_count", "last_accessed_at", "t_valid")
CLEARABLE: Final = (
    "metadata",
    "tags",
    "scope",
    "retention_policy",
    "retention_until",
    "t_invalid",
    "temporal_stability",
    "trigger",
)

ID: Final = Param(name="id", help="Id of the memory, or at least 8 characters of it.")
REASON: Final = Param(name="reason", flag="--reason", help="Why; kept in the event.")
T_INVALID: Final = Param(
    name="t_invalid",
    kind="time",
    flag="--t-invalid",
    help="When the fact ended; absent: it is withdrawn.",
)
STABILITY: Final = Param(
    name="temporal_stability",
    kind="choice",
    flag="--stability",
    choices=words(Stability),
    help="How long such a fact holds.",
)
RETENTION: Final = Param(
    name="retention_policy",
    kind="choice",
    flag="--retention",
    choices=words(RetentionPolicy),
    help="How long it is worth keeping.",
)
TRIGGER: Final = Param(
    name="trigger",
    kind="choice",
    flag="--trigger",
    choices=words(Trigger),
    help="Why it is worth remembering.",
)
SCOPE: Final = Param(name="scope", flag="--scope", help="Label inside the namespace.")
INCLUDE_EXPIRED: Final = Param(
    name="include_expired",
    kind="switch",
    flag="--include-expired",
    help="Superseded and deprecated memories too.",
)
TIME_TRAVEL: Final = (
    Param(name="as_of", kind="time", flag="--as-of", help="Both times below at once."),
    Param(
        name="known_at", kind="time", flag="--known-at", help="Only what was recorded by this time."
    ),
    Param(
        name="valid_at", kind="time", flag="--valid-at", help="Only facts that hold at this time."
    ),
)
SCOPES: Final = (
    Param(name="scope", kind="texts", flag="--scope", help="Only this scope; repeatable."),
    Param(name="unscoped", kind="flag", flag="--unscoped", help="Memories without a scope."),
)
FILTERS: Final = (
    *SCOPES,
    Param(name="kinds", kind="words", flag="--kinds", choices=words(Kind), help="Kinds of memory."),
    Param(name="tags", kind="words", flag="--tags", help="Tags, a,b,c."),
    Param(
        name="tags_mode",
        kind="choice",
        flag="--tags-mode",
        choices=("any", "all"),
        help="Whether any of the tags is enough.",
        default_text="any",
    ),
    Param(name="sources", kind="texts", flag="--sources", help="Source word; repeatable."),
    Param(name="actors", kind="texts", flag="--actors", help="Who stored it; repeatable."),
    Param(name="authors", kind="texts", flag="--authors", help="Who said it; repeatable."),
    Param(name="roles", kind="words", flag="--roles", choices=words(Role), help="Roles."),
    Param(name="session_ids", kind="texts", flag="--session-ids", help="Session; repeatable."),
    Param(
        name="origin_types",
        kind="words",
        flag="--origin-types",
        choices=words(OriginType),
        help="Kinds of text.",
    ),
    Param(
        name="metadata",
        kind="pairs",
        flag="--metadata",
        help="NAME=VALUE that must be equal; repeatable.",
    ),
    Param(
        name="since", kind="time", flag="--since", help="Facts that began at or after this time."
    ),
    Param(name="until", kind="time", flag="--until", help="Facts that began before this time."),
    Param(
        name="created_since",
        kind="time",
        flag="--created-since",
        help="Stored at or after this time.",
    ),
    Param(
        name="created_until", kind="time", flag="--created-until", help="Stored before this time."
    ),
    INCLUDE_EXPIRED,
    Param(
        name="include_archived", kind="flag", flag="--include-archived", help="Archived ones too."
    ),
    Param(name="ids", kind="words", flag="--ids", help="Only these ids."),
    Param(name="exclude_ids", kind="words", flag="--exclude-ids", help="Not these ids."),
    Param(
        name="min_similarity",
        kind="number",
        flag="--min-similarity",
        help="Least plain cosine, -1 to 1.",
    ),
)
MENTIONING: Final = Param(
    name="entities",
    kind="texts",
    flag="--entities",
    help="Name or id of an entity that is mentioned; repeatable.",
)
RECALL: Final = (
    Param(name="query", help="Question or words; - reads standard input.", stdin=True),
    Param(
        name="limit",
        kind="integer",
        flag="--limit",
        help="Most results.",
        default_text="recall.default_limit, 5",
    ),
    Param(name="explain", kind="flag", flag="--explain", help="Say why each memory came."),
    Param(
        name="timing", kind="flag", flag="--timing", help="Print the time of each stage on stderr."
    ),
    Param(name="format", kind="choice", flag="--format", choices=FORMATS, help="Layout."),
    Param(
        name="seed",
        flag="--seed",
        help="Seed of the walk, 0 to 9007199254740991, or random.",
        default_text="from query and state",
    ),
    Param(
        name="mode",
        kind="choice",
        flag="--mode",
        choices=("probabilistic", "deterministic"),
        help="Whether edges are drawn or taken by a threshold.",
        default_text="walk.mode",
    ),
    Param(
        name="order",
        kind="choice",
        flag="--order",
        choices=("best", "dfs"),
        help="Strongest offer first, or depth first.",
        default_text="walk.order",
    ),
    *TIME_TRAVEL,
    *FILTERS,
    MENTIONING,
    Param(
        name="expect",
        kind="words",
        flag="--expect",
        help="Ids that should come: for those that do not, why not and what would bring them in.",
    ),
    Param(
        name="min_confidence",
        kind="number",
        flag="--min-confidence",
        help="Least confidence, from 0 to 1: below it nothing is given but the nearest misses.",
    ),
    Param(
        name="receipt",
        kind="flag",
        flag="--receipt",
        help="Print a receipt, by which replay-receipt derives the same ranking again.",
    ),
    Param(
        name="context",
        kind="flag",
        flag="--context",
        help="Print what was found as one block for a prompt, by session and time.",
    ),
    Param(
        name="budget",
        kind="integer",
        flag="--budget",
        help="Most tokens of the block.",
        default_text="1000",
    ),
    Param(
        name="touch", kind="flag", flag="--touch", help="Count this as an access of each result."
    ),
)
