"""Back up a store while it is in use, lose it, and bring it back."""

import shutil
import tempfile
from pathlib import Path

import vestig

with tempfile.TemporaryDirectory() as home:
    place, copy = Path(home, "store"), Path(home, "backup")
    with vestig.open(place) as store:
        store.commit("The staging database listens on port 5433.", key="staging.port")
        store.commit("Maria prefers short answers.")
        print("backed up:", store.admin.backup(copy).memories, "memories")

    # a restore takes an empty place, so that it never writes over a store
    try:
        vestig.restore(copy, place)
    except vestig.ConflictError:
        print("refused: there is a store")

    shutil.rmtree(place)
    print("restored:", vestig.restore(copy, place).memories, "memories")
    with vestig.open(place) as store:
        print(store.get("staging.port").content)
