"""Calls of the owner of a store."""

from collections.abc import Callable
from typing import Annotated, ClassVar

from vestig.calls.argument import Flag, Function, Integer, Number
from vestig.calls.declaration import InNamespace, Request
from vestig.calls.filter import NO_FILTER, Filter, Where


class StatsRequest(Request, frozen=True, kw_only=True):
    """Counts of a store."""

    call: ClassVar = "stats"

    namespace: InNamespace = None


class DoctorRequest(Request, frozen=True, kw_only=True):
    """Every check of a store."""

    call: ClassVar = "doctor"


class CompactRequest(Request, frozen=True, kw_only=True):
    """All segments as one."""

    call: ClassVar = "compact"


class GcRequest(Request, frozen=True, kw_only=True):
    """Removal of what supports nothing."""

    call: ClassVar = "gc"

    dry_run: Annotated[bool, Flag("Say what would go and keep everything.", "--dry-run")] = False


class PruneRequest(Request, frozen=True, kw_only=True):
    """Removal of what need not be kept any longer."""

    call: ClassVar = "prune"

    superseded_after_days: Annotated[
        float | None,
        Number(
            "Also what was superseded and ended so many days ago; absent: only what its own"
            " retention_until says.",
            "--superseded-after-days",
            least=0,
            most=36_525,
        ),
    ] = None
    where: Annotated[
        Filter,
        Where(
            "Of which memories, superseded, deprecated and archived ones too unless it names"
            " statuses. A field without a value is refused.",
            selects=True,
        ),
    ] = NO_FILTER
    dry_run: Annotated[bool, Flag("Say what would go and keep everything.", "--dry-run")] = False
    namespace: InNamespace = None


class SecretsRequest(Request, frozen=True, kw_only=True):
    """Secrets in what is stored."""

    call: ClassVar = "secrets"

    fix: Annotated[
        bool,
        Flag(
            "Let the masked text of each take over as an update does, at its time and from its"
            " source, and forget the memory that holds the secret, pinned ones too; what is expired"
            " is only forgotten. Values of items are masked where they stand. What was interrupted"
            " goes on in the next run.",
            "--fix",
        ),
    ] = False
    dry_run: Annotated[
        bool, Flag("Say what would be masked and forgotten and keep everything.", "--dry-run")
    ] = False
    namespace: InNamespace = None


class EnrichRequest(Request, frozen=True, kw_only=True):
    """Jobs of the queue."""

    call: ClassVar = "enrich"

    limit: Annotated[int | None, Integer("Most jobs in this run.", "--limit")] = None
    retry_failed: Annotated[bool, Flag("Jobs that failed for good too.", "--retry-failed")] = False
    dry_run: Annotated[
        bool,
        Flag(
            "Say what due jobs would ask a language model, and its price; ask nothing.", "--dry-run"
        ),
    ] = False


class CognifyRequest(Request, frozen=True, kw_only=True):
    """Turns and passages that a language model reads."""

    call: ClassVar = "cognify"

    where: Annotated[
        Filter,
        Where(
            "Which of the turns and passages that no model has read are read: a `vestig.Filter`,"
            " or an object of its fields.",
            beside=True,
        ),
    ] = NO_FILTER
    limit: Annotated[
        int | None, Integer("Most windows, that is calls of the model, in this run.", "--limit")
    ] = None
    retry_failed: Annotated[bool, Flag("Windows that failed for good too.", "--retry-failed")] = (
        False
    )
    dry_run: Annotated[
        bool,
        Flag(
            "Count the windows and say what they would send, and its price; ask nothing.",
            "--dry-run",
        ),
    ] = False
    progress: Annotated[
        Callable[[int, int | None], None] | None,
        Function("Called with the windows done and how many there are, or None."),
    ] = None


class RebuildRequest(Request, frozen=True, kw_only=True):
    """Parts that are made again from the ledger."""

    call: ClassVar = "rebuild"

    embeddings: Annotated[
        bool,
        Flag(
            "Embed every text again with the configured embedder; goes on where it was"
            " interrupted.",
            "--embeddings",
        ),
    ] = False
    tokens: Annotated[
        bool,
        Flag(
            "Make codes of word pieces for the memories that lack them, where late interaction"
            " counts.",
            "--tokens",
        ),
    ] = False
    progress: Annotated[
        Callable[[int, int | None], None] | None,
        Function("Called with what is done and how much there is, or None."),
    ] = None
