"""A process that imports a folder of documents and ends without warning.

    python document_writer.py STORE FOLDER STATEMENT

It kills itself before its STATEMENT-th statement of the import; 0 = not at all. At the end it says
how many statements ran.
"""

from __future__ import annotations

import sys

from claim_writer import Statements
from writer import open_store, say

from vestig.exchange import documents


def main(path: str, folder: str, statement: int) -> None:
    """Imports all that is in the folder, five passages in a transaction."""
    documents._GROUP_PASSAGES = 5  # type: ignore[misc]
    with open_store(path) as store:
        statements = Statements(statement)
        store.import_(folder)
        say(".", str(statements.ran))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
