"""The store room: the ledger in SQLite, and the projection that is made from it.

`open_ledger` gives the port `Ledger`. Nothing outside this room knows that there is SQL.
"""

from __future__ import annotations

from vestig.store.jobs import JobRules
from vestig.store.ledger import SqliteLedger
from vestig.store.migrations import Migration
from vestig.store.opening import accept_ledger, open_ledger
from vestig.store.verify import Finding

__all__ = ["Finding", "JobRules", "Migration", "SqliteLedger", "accept_ledger", "open_ledger"]
