"""A folder of notes: import it, change a note, import it again."""

import tempfile
from pathlib import Path

import vestig

with tempfile.TemporaryDirectory() as home, vestig.open(f"{home}/store") as store:
    notes = Path(home, "notes")
    (notes / "boats").mkdir(parents=True)
    keel = notes / "boats" / "keel.md"
    keel.write_text("# Keel\n\nThe keel was replaced in 2011.\n")
    (notes / "mast.md").write_text("# Mast\n\nThe mast is eleven metres high.\n")

    first = store.import_(notes, recursive=True)
    print("first:", first.added, "passages of", first.lines, "documents")

    # what is unchanged is skipped; of an edited note the old passage ends
    keel.write_text("# Keel\n\nThe keel was replaced in 2019, by Ann.\n")
    again = store.import_(notes, recursive=True)
    print("again:", again.added, "added,", again.ended, "ended,", again.skipped, "unchanged")
    print(store.recall("when was the keel replaced?")[0].content.split("\n")[-1])

    # mirror: a note whose file is gone ends too
    (notes / "mast.md").unlink()
    mirrored = store.import_(notes, recursive=True, mirror=True)
    print("mirror:", [Path(path).name for path in mirrored.ended_documents], "ended")
    print("documents:", [Path(str(one.path)).name for one in store.documents()])
