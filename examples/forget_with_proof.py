"""Forget for good: what goes is named first, and no byte of it stays in any file of the store."""

import tempfile
from pathlib import Path

import vestig

SECRET = "Ada keeps the spare key under the blue pot."


def holds(folder: Path, text: str) -> bool:
    """Return whether a file holds the text as it is."""
    return any(text.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())


with tempfile.TemporaryDirectory() as home, vestig.open(f"{home}/store") as store:
    folder = Path(home, "store")
    store.commit(SECRET, session_id="monday", tags=["private"])
    store.commit("The garden has two gates.", session_id="monday")
    print("in the files before:", holds(folder, SECRET))

    plan = store.forget(where={"tags": "private"}, dry_run=True)
    print("would go:", len(plan.memory_ids), "of", store.count())

    report = store.forget(where={"tags": "private"}, actor="ada@example.org")
    print("files searched:", report.files_scanned > 0, "| residues:", report.residues)
    print("in the files after:", holds(folder, SECRET))
    print("left:", [one.content for one in store])
    print(report.outside)
