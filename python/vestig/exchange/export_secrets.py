"""Secrets in an export, which is restored line by line as it was made."""

from __future__ import annotations

from vestig.calls.upkeep import SecretsRequest
from vestig.commit.enrich import enrich_inline
from vestig.commit.stored_secrets import secrets
from vestig.exchange.commit_fields import ImportFile
from vestig.firewall import masked_text
from vestig.session.session import Session


def may_hold_secrets(session: Session, file: ImportFile) -> bool:
    """Return whether any line of the file has a secret that is not to be stored."""
    if session.config.settings.firewall.secrets == "off":
        return False
    return any(masked_text(line.decode("utf-8", "replace"))[1] for line in file.export_lines())


def mask_restored(session: Session) -> list[str]:
    """Masks the secrets of what was restored, and forgets the memories that held them; returns a
    warning where there were some."""
    with session.ledger.read() as view:
        spaces = view.namespaces()
    fixed, items, warnings = 0, 0, list[str]()
    for space in spaces:
        report = secrets(session, SecretsRequest(fix=True, namespace=space), run_jobs=enrich_inline)
        fixed += report.fixed
        items += report.items_fixed
        warnings += [f"a secret could not be masked: {error.message}" for error in report.errors]
    if fixed:
        warnings.append(
            f"{fixed} memories held secrets: masked texts stand in their place, and they are"
            " forgotten"
        )
    if items:
        warnings.append(f"the values of {items} items held secrets, which are masked")
    return warnings
