"""Remember, ask, correct: the first store."""

import tempfile

import vestig

with tempfile.TemporaryDirectory() as folder, vestig.open(f"{folder}/store") as store:
    store.commit("The staging database listens on port 5433.", tags=["infra"])
    store.commit("Releases leave on Thursday.", key="release.day", t_valid="2026-01-05")
    store.commit("Releases leave on Tuesday.", key="release.day", t_valid="2026-03-02")

    found = store.recall("which port has the staging database?", limit=1)
    print(found.certainty, "→", found[0].content)
    print("now:", store.get("release.day").content)
    print("then:", store.get("release.day", valid_at="2026-02-01").content)

    # a question that nothing stored answers brings nothing
    print(len(store.recall("what did the auditors say about the roof?")), "results")
