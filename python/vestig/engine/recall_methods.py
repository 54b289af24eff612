"""The methods of `Vestig` that recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from vestig import engine
from vestig.answers import RecallResult, Receipt, ReplayReport
from vestig.fields import RecallFields

if TYPE_CHECKING:
    from vestig.engine.context import Context

__all__ = ["RecallMethods"]


class RecallMethods:
    """Part of `Vestig`."""

    _context: Context

    def recall(self, query: str | None = None, **fields: Unpack[RecallFields]) -> RecallResult:
        """The memories that answer a question, each with its reason (spec R).

        Args:
            query: the question; a JSON or JSONL conversation stands for its end.
            messages: a conversation in the place of a query.
            seed: of the walk, 0 … 2⁵³ − 1, or `random`; the one used is in the result.
            expect: ids that should come; `why_not` tells of those that do not (R-22).
            receipt: adds a receipt, by which `replay_receipt` derives the ranking again (R-23).
            context: adds a block of text for a prompt, by session and time, with the neighbours
                that carry evidence.
            budget: most tokens of that block, 1,000 when absent.

        Raises:
            ValidationError, ConfigError, ProviderError.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The spare key lies under the pot").memory_id
            ...     found = store.recall("where is the spare key?", context=True, budget=300)
            ...     found.results[0].id == id, found.context.ids == (id,)
            (True, True)
        """
        found: RecallResult = engine.recalling.recall(self._context, query, dict(fields))
        return found

    def replay_receipt(self, receipt: Receipt | Mapping[str, Any] | str) -> ReplayReport:
        """The ranking of a receipt derived again at its state of this store (R-23).

        Args:
            receipt: as `recall(receipt=True)` gave it, as an object, or as JSON.

        Raises:
            ConflictError: it comes out otherwise or cannot be derived; says why.
            ValidationError: no receipt.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     id = store.commit("The spare key lies under the pot").memory_id
            ...     receipt = store.recall("where is the key?", receipt=True).receipt
            ...     id = store.commit("The pot stands beside the back door").memory_id
            ...     store.replay_receipt(receipt).equal
            True
        """
        report: ReplayReport = engine.receipts.replay(self._context, receipt)
        return report
