"""`store.anchors`: the sources that memories speak of, and those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vestig.api.guards import CallsOfGroup, names_faults_of_methods
from vestig.api.views import Binding, binds_methods
from vestig.calls.anchors import AnchorsRequest, RefreshRequest, StaleRequest
from vestig.calls.declaration import checked, given
from vestig.session.forks import apart_from_forks_of_methods
from vestig.session.session import Session

if TYPE_CHECKING:
    from vestig.anchors.values import MemoryAnchors, StaleMemories


@names_faults_of_methods
@apart_from_forks_of_methods
@binds_methods
class Anchors(CallsOfGroup):
    """Anchors of one open store, as `store.anchors`: the sources that memories speak of."""

    def __init__(self, session: Session, binding: Binding | None = None) -> None:
        self._session = session
        self._binding = binding

    def show(self, id: str, *, namespace: str | None = None) -> MemoryAnchors:
        """The anchors of a memory as they stand, and those of what it was made of.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: no such memory.
        """
        asked = checked(AnchorsRequest, given(locals()))
        from vestig.anchors import stored

        return stored.show(self._session, asked)

    def refresh(self, id: str, *, namespace: str | None = None) -> MemoryAnchors:
        """Takes the anchors of a memory again: what their sources hold is what it speaks of.

        Args:
            id: Id of the memory, or at least 8 characters of it.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            NotFoundError: the memory has no anchors of its own.
            ConflictError: one is gone, cannot be seen from here, or is a memory that has ended.
        """
        asked = checked(RefreshRequest, given(locals()))
        from vestig.anchors import stored

        return stored.refresh(self._session, asked)

    def stale(
        self,
        *,
        scope: str | Sequence[str] | None = None,
        deprecate: bool = False,
        limit: int = 100,
        namespace: str | None = None,
    ) -> StaleMemories:
        """Active memories of which an anchor of their own changed or is gone.

        Args:
            scope: Only of these scopes; of all when absent.
            deprecate: End them, each by an event that says why.
            limit: Most memories, at most 1000.
            namespace: The namespace to act in instead of the store's own.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     limit = store.commit("The limit is 40 requests").memory_id
            ...     note = store.commit("Retry after the limit is reached", anchor=limit)
            ...     _ = store.deprecate(limit)
            ...     [one.text for one in store.anchors.stale()]
            ['Retry after the limit is reached']
        """
        asked = checked(StaleRequest, given(locals()))
        from vestig.anchors import stored

        return stored.stale(self._session, asked)
