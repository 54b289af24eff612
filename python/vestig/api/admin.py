"""`store.admin`: upkeep and checks of one store; and `vestig.restore`, which brings a backup to a
place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vestig import calls
from vestig.api.guards import (
    CallsOfGroup,
    names_faults,
    names_faults_of_methods,
)
from vestig.api.notices import warned
from vestig.api.views import Binding, binds_methods
from vestig.calls.declaration import checked, given
from vestig.calls.filter import Filter, FilterFields
from vestig.errors import ValidationError
from vestig.other_words import by_caller
from vestig.results import BackupReport, CompactReport, RebuildReport, StoreStats
from vestig.session.forks import apart_from_forks, apart_from_forks_of_methods
from vestig.session.session import Session

if TYPE_CHECKING:
    from vestig.config import Config
    from vestig.ports import Progress
    from vestig.results import (
        DoctorReport,
        EnrichReport,
        ForgetReport,
        GcReport,
        PruneReport,
        SecretsReport,
    )


@names_faults_of_methods
@apart_from_forks_of_methods
@binds_methods
class Admin(CallsOfGroup):
    """Upkeep and checks of one open store, as `store.admin`."""

    def __init__(self, session: Session, binding: Binding | None = None) -> None:
        self._session = session
        self._binding = binding

    def enrich(
        self, limit: int | None = None, *, retry_failed: bool = False, dry_run: bool = False
    ) -> EnrichReport:
        """Works due jobs of this namespace.

        Args:
            limit: Most jobs in this run.
            retry_failed: Jobs that failed for good too.
            dry_run: Say what due jobs would ask a language model, and its price; ask nothing.
        """
        asked = checked(calls.upkeep.EnrichRequest, given(locals()))
        from vestig.enrichment import jobs

        return jobs.enrich(self._session, asked)

    def gc(self, dry_run: bool = False) -> GcReport:
        """Removes items past their `expires` as `items.delete` does, sources that produced nothing,
        and edges without ends.

        Args:
            dry_run: Say what would go and keep everything.
        """
        asked = checked(calls.upkeep.GcRequest, given(locals()))
        from vestig.memories import forget

        return forget.gc(self._session, dry_run=asked.dry_run)

    def prune(
        self,
        superseded_after_days: float | None = None,
        where: Filter | FilterFields | None = None,
        dry_run: bool = False,
        *,
        namespace: str | None = None,
    ) -> PruneReport:
        """Removes for good, as `forget` does, each memory whose `retention_until` is past, and with
        `superseded_after_days` each that was superseded so long ago. Pinned memories stay, those of
        the policy `permanent`, and those whose `retention_until` is to come; of the policy
        `decision` only superseded ones go. Nothing is ever removed without this call.

        Args:
            superseded_after_days: Also what was superseded and ended so many days ago; absent: only
                what its own retention_until says.
            where: Of which memories, superseded, deprecated and archived ones too unless it names
                statuses. A field without a value is refused.
            dry_run: Say what would go and keep everything.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: a negative number of days. ForgetIncompleteError: as `forget`.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     old = store.commit("The lift is out of order", retention_until="2020-01-01")
            ...     _ = store.commit("The stairs are open", retention_until="2900-01-01")
            ...     report = store.admin.prune()
            ...     report.evaluated, report.removed, report.memory_ids == (old.memory_id,)
            (2, 1, True)
        """
        asked = checked(calls.upkeep.PruneRequest, given(locals()))
        from vestig.memories import forget as pruning

        return warned("prune", pruning.prune(self._session, asked))

    def secrets(
        self, fix: bool = False, dry_run: bool = False, *, namespace: str | None = None
    ) -> SecretsReport:
        """Finds passwords, keys and tokens in what is stored: in texts, names, metadata, questions,
        claims and events, of expired memories too, and in the values of items.

        Args:
            fix: Let the masked text of each take over as an update does, at its time and from its
                source, and forget the memory that holds the secret, pinned ones too; what is
                expired is only forgotten. Values of items are masked where they stand. What was
                interrupted goes on in the next run.
            dry_run: Say what would be masked and forgotten and keep everything.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ForgetIncompleteError: as `forget`.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> open_to_all = {"firewall": {"secrets": "off"}}
            >>> with vestig.open(":memory:", embedder=HashingEmbedder(), config=open_to_all) as s:
            ...     _ = s.commit("The password of the router is Kx9!mmQ2")
            ...     fixed = s.admin.secrets(fix=True).fixed
            ...     fixed, s.list()[0].content, len(s.admin.secrets())
            (1, 'The password of the router is [secret:password]', 0)
        """
        asked = checked(calls.upkeep.SecretsRequest, given(locals()))
        from vestig.commit import stored_secrets

        return stored_secrets.secrets(self._session, asked)

    def stats(self, *, namespace: str | None = None) -> StoreStats:
        """Counts, seq and bytes of the store.

        Args:
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.upkeep.StatsRequest, given(locals()))
        from vestig import admin

        return StoreStats(**admin.stats(self._session, asked.namespace))

    def metrics(self) -> Mapping[str, float]:
        """Counters since open."""
        from vestig import admin

        return admin.metrics(self._session)

    def doctor(self) -> DoctorReport:
        """Every check of the store; changes nothing."""
        from vestig import admin

        return admin.doctor(self._session)

    def rebuild(
        self,
        *,
        embeddings: bool = False,
        tokens: bool = False,
        progress: Progress | None = None,
    ) -> RebuildReport:
        """Makes the projection again from the ledger alone; `embeddings=True` embeds every
        text again with the configured embedder, `tokens=True` makes codes of word pieces for the
        memories that lack them where late interaction counts. Either goes on where it was
        interrupted.

        Args:
            embeddings: Embed every text again with the configured embedder; goes on where it was
                interrupted.
            tokens: Make codes of word pieces for the memories that lack them, where late
                interaction counts.
            progress: Called with what is done and how much there is, or None.
        """
        asked = checked(calls.upkeep.RebuildRequest, given(locals()))
        from vestig import admin

        return RebuildReport(**admin.rebuild(self._session, asked))

    def compact(self) -> CompactReport:
        """Merges all segments of the projection, and what is in none yet, into one, while others
        read and write."""
        from vestig import admin

        return CompactReport(**admin.compact(self._session))

    def forget_finish(self) -> ForgetReport:
        """Erases and proves again what was forgotten but not proved to be gone."""
        from vestig.memories import forget

        return forget.forget_finish(self._session)

    def backup(self, dest: str | os.PathLike[str]) -> BackupReport:
        """A consistent copy of the store while it is in use.

        Args:
            dest: A directory that does not exist yet.
        """
        asked = checked(calls.files.BackupRequest, given(locals()))
        from vestig import admin

        return BackupReport(**admin.backup(self._session, asked.dest))


@names_faults
@apart_from_forks
def restore(
    backup: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | None = None,
) -> BackupReport:
    """Brings a backup to a place that holds no store: every row is checked before anything is
    written, and the store appears whole or not at all.

    Args:
        backup: A directory that backup made; it stays as it is.
        path: The directory of the store, missing or empty; default store.path, where it is set.
        config: Path of a configuration file, or an object of keys that win over every file.

    Raises:
        NotFoundError: there is no store in `backup`.
        ConflictError: the place holds a store, or something else; nothing was changed.
        StoreDamagedError: the backup is not what was written; nothing was written.

    Example:
        >>> import pathlib, tempfile, vestig
        >>> from vestig.testing import HashingEmbedder
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with vestig.open(folder / "store", embedder=HashingEmbedder()) as store:
        ...     _ = store.commit("Deploys run on Fridays at noon")
        ...     _ = store.admin.backup(folder / "copy")
        >>> vestig.restore(folder / "copy", folder / "again").memories
        1
    """
    asked = checked(calls.files.RestoreRequest, given(locals()))
    from vestig import admin
    from vestig.session.opening import load_config

    settings = load_config(asked.config, None)
    if asked.path is None and settings.origin("store.path") == "built-in":
        way = by_caller("restore(backup, path)", "`vestig --store DEST restore BACKUP`")
        message = f"path: expected the folder in which the store shall be, not there yet; {way}"
        raise ValidationError("path", None, "", message=f"{message} names it")
    return BackupReport(**admin.restore(settings, asked))
