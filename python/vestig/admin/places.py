"""Work with the paths of stores: a list of all, lost ones forgotten, one removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from vestig.config import Config, state_directory
from vestig.errors import ConflictError, ValidationError
from vestig.results import DestroyReport, DoctorReport, Finding
from vestig.session.opening import state_folder, store_directory
from vestig.store.ledger.absent_store import all_records, drop_record, find_record
from vestig.store.sqlite import files
from vestig.store.upkeep.whole_store import StoreFiles, destroy, survey

# Files of others that a report names.
_LEFT_SHOWN: Final = 20
_OUTSIDE: Final = "backups and exports of it are files of their own and stay"


def list_stores(*, forget: bool) -> DoctorReport:
    """Every path that held a store, as the user's state folder knows it. `forget` drops those whose
    path is gone."""
    state_dir = state_directory()
    findings = []
    for record in all_records(state_dir):
        text = f"{record.path}: {record.text(state_dir)}"
        if os.path.lexists(record.path / files.LEDGER_FILE):
            findings.append(Finding(check="store", level="ok", detail=text))
        elif forget:
            drop_record(state_dir, record)
            findings.append(Finding(check="store", level="ok", detail=f"{text}; dropped"))
        else:
            detail = f"{text}; gone, drop it with `vestig doctor --global --forget-lost`"
            findings.append(Finding(check="store", level="finding", detail=detail))
    if not findings:
        findings.append(Finding(check="store", level="ok", detail="no store is known here"))
    return DoctorReport(findings=tuple(findings), seq=0)


def forget_lost(config: Config) -> DoctorReport:
    """Drops the record of the configured path, where its store is gone."""
    directory = store_directory(None, config)
    state_dir = state_folder(directory)
    if directory is None:
        raise ValidationError("forget_lost", ":memory:", "the path of a store on disk")
    ledger = files.ledger_path(directory)
    record = find_record(state_dir, ledger.parent)
    if record is None or state_dir is None:
        detail = f"{ledger.parent}: nothing is recorded of a store there"
    elif ledger.exists() and record.device == ledger.parent.stat().st_dev:
        detail = f"{ledger.parent}: the store is there, its record was kept"
    else:
        detail = f"{ledger.parent}: {record.text(state_dir)}; dropped"
        drop_record(state_dir, record)
    return DoctorReport(findings=(Finding(check="store", level="ok", detail=detail),), seq=0)


def destroy_store(
    config: Config, path: str, confirm: Callable[[StoreFiles], bool]
) -> DestroyReport:
    """Removes the store of a path for good, once `confirm` has seen what would go.

    Raises:
        NotFoundError: no store there.
        StoreDamagedError: it is lost.
        StoreLockedError: somebody writes to it.
        ConflictError: not confirmed.
    """
    directory = store_directory(path, config)
    if directory is None:
        raise ValidationError("path", path, "the path of a store on disk")
    state_dir = state_folder(directory)
    found = survey(directory, state_dir)
    if not confirm(found):
        raise ConflictError("nothing was removed: the plan was not confirmed")
    left = destroy(found, state_dir, lock_timeout_s=config.settings.store.lock_timeout_s)
    return DestroyReport(
        path=str(found.folder),
        store_uuid=found.store_uuid,
        transactions=found.transactions,
        files=found.files,
        bytes=found.bytes,
        outside=_OUTSIDE,
        left=tuple(str(path) for path in left[:_LEFT_SHOWN]),
        left_more=max(0, len(left) - _LEFT_SHOWN),
    )
