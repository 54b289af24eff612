"""The calls of an open store that concern entities (D-02, G-03, G-05)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vestig import engine
from vestig.engine.context import Context
from vestig.ports import Progress

if TYPE_CHECKING:
    from vestig.engine.backfilling import BackfillReport
    from vestig.engine.entities import EntityChange, EntityDetail, EntityPage, PurgeReport

__all__ = ["EntityMethods"]


class EntityMethods:
    """Base of `Vestig`. Every method delegates; none decides."""

    _context: Context

    # --- entities ----------------------------------------------------------------------------

    def entities(
        self,
        entity_type: str | None = None,
        *,
        offset: int = 0,
        limit: int = 20,
        include_expired: bool = False,
        namespace: str | None = None,
    ) -> EntityPage:
        """One page of the names that memories mention, the most mentioned first (D-02).

        Args:
            entity_type: only entities of this type, in any case; None = all.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.commit("The pump is looked after by Ada Lovelace")
            ...     _ = store.commit("We asked Ada Lovelace for a new gasket")
            ...     [(one.entity.canonical_name, one.mentions) for one in store.entities()]
            [('Ada Lovelace', 2)]
        """
        return engine.entities.list_entities(
            self._context,
            entity_type=entity_type,
            offset=offset,
            limit=limit,
            include_expired=include_expired,
            namespace=namespace,
        )

    def entity(
        self,
        id: str,
        *,
        expand: bool = False,
        include_expired: bool = False,
        namespace: str | None = None,
    ) -> EntityDetail:
        """One entity and the memories that mention it, newest first. An entity that was merged is
        what it was merged into, through any chain (G-05).

        Args:
            id: whole, or at least 8 characters after the underscore.
            expand: with the memories themselves, not only their ids.
            include_expired: the entity itself, even when it was merged or expired.

        Raises:
            NotFoundError: unknown in this namespace, or expired.
        """
        return engine.entities.show_entity(
            self._context, id, expand=expand, include_expired=include_expired, namespace=namespace
        )

    def merge_entities(self, a: str, b: str, *, namespace: str | None = None) -> EntityChange:
        """Makes `a` another name of `b` (G-05): edges and names of `a` become those of `b`, and
        look-ups of `a` give `b`. Time travel shows both as they were.

        Raises:
            ConflictError: both are one entity already, so this would be a cycle.
            NotFoundError: an id that this namespace does not hold.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     a = store.commit("Tickets are kept by ACME Incorporated").entities[0]
            ...     b = store.commit("Invoices are sent to ACME Ltd today").entities[0]
            ...     merged = store.merge_entities(a, b)
            ...     merged.id == b, store.entity(a).id == b, merged.entity.aliases
            (True, True, ('ACME', 'ACME Incorporated'))
        """
        return engine.entities.merge_entities(self._context, a, b, namespace=namespace)

    def expire_entity(self, id: str, *, namespace: str | None = None) -> EntityChange:
        """Hides an entity and its edges (G-05). A memory that names it again makes a new one.

        Raises:
            NotFoundError: unknown in this namespace, or expired already.
        """
        return engine.entities.expire_entity(self._context, id, namespace=namespace)

    def purge_entities(
        self,
        ids: Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        namespace: str | None = None,
    ) -> PurgeReport:
        """Removes expired and merged entities for good, with their edges and vectors. Time travel
        no longer shows them; the texts that named them stay, and only `forget` removes those.

        Args:
            ids: these; None = all of the namespace.
            dry_run: reports what would go and keeps it.

        Raises:
            NotFoundError: an unknown id. ConflictError: an entity that is not expired. Nothing is
                removed then.
        """
        return engine.entities.purge_entities(
            self._context, ids, dry_run=dry_run, namespace=namespace
        )

    # --- names in texts ----------------------------------------------------------------------

    def extract_entities(
        self,
        *,
        reprocess: bool = False,
        batch_size: int = 500,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> BackfillReport:
        """Finds the names in memories that mention none yet, by the rules of G-03.

        Args:
            reprocess: every memory again; what is linked stays.
            batch_size: memories of one transaction.
        """
        return engine.backfilling.backfill(
            self._context,
            reprocess=reprocess,
            batch_size=batch_size,
            dry_run=False,
            namespace=namespace,
            progress=progress,
        )

    def entity_backfill(
        self,
        *,
        dry_run: bool = False,
        batch_size: int = 500,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> BackfillReport:
        """Entities of a store that was filled without them: first the names of all memories, then
        the links (L-16). Running it again changes nothing.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> off = {"m4": {"entity_extraction": {"enabled": False}}}
            >>> with vestig.open(":memory:", embedder=HashingEmbedder(), config=off) as store:
            ...     _ = store.commit("The pump is looked after by Ada Lovelace")
            ...     store.entities().total
            0
        """
        return engine.backfilling.backfill(
            self._context,
            reprocess=True,
            batch_size=batch_size,
            dry_run=dry_run,
            namespace=namespace,
            progress=progress,
        )
