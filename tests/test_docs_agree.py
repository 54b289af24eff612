"""Pages that say the same thing say it alike: claims that exclude each other, as pairs."""

from __future__ import annotations

import re
from pathlib import Path

from tables import each

ROOT = Path(__file__).parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): " ".join(path.read_text(encoding="utf-8").split())
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
}
# What is claimed, on which pages, and what no page says beside it. Patterns, in any case.
CLAIMS = [
    (
        "a fleet server has metrics at the root beside health",
        {
            "docs/fleet.md": r"`/metrics`, at the root as below `/api/memory`",
            "docs/http.md": r"`/metrics` \(also at `/metrics`\).{0,80}with `--fleet`",
        },
        r"no `/metrics`|`/metrics` (is|are) (only|not)|fleet` has no metrics",
    ),
    (
        "a new token is printed alone",
        {"docs/fleet.md": r"vestig tenant token add [^#]*# prints the token alone, once"},
        r"prints the token (and|with|beside)",
    ),
    (
        "many machines share a tenant, and a plain store is of one",
        {
            "docs/comparison.md": r"only a \[tenant\]\(fleet\.md\) is one for many machines",
            "docs/fleet.md": r"any number of machines|many machines",
        },
        r"on one machine only|(cannot|never) be (used|shared) (by|between) (several )?machines",
    ),
    (
        "there are servers that one runs oneself",
        {"docs/comparison.md": r"a library with servers that you run yourself"},
        r"there is no server|has no server|without any server",
    ),
    (
        "nothing is encrypted",
        {"SECURITY.md": r"## What is not encrypted"},
        r"(is|are) encrypted (at rest|on disk|by vestig)|encryption at rest",
    ),
    (
        "nothing is released yet",
        {"docs/operations.md": r"Nothing is released yet", "CHANGELOG.md": r"unreleased"},
        r"pip install vestig(?![-\w./\[])|`vestig upgrade`",
    ),
    (
        "the built-in embedder is made for English",
        {"docs/comparison.md": r"made for English", "docs/languages.md": r"made for English"},
        r"embedder is (made for|trained on) (all|many|several) languages",
    ),
    (
        "a filter that finds nothing is no failure",
        {"docs/cli.md": r"\| 0 \| done; also when there is no result \|"},
        r"exits? (with )?1 (where|when) nothing (was|is) (found|selected)",
    ),
    (
        "the values of a key are its history, what happened to a memory its events",
        {"docs/truth.md": r"`history\(key\)` and `vestig history KEY`"},
        r"`history` is `memory events`|`history\(id\)` is (the|its) log",
    ),
    (
        "an archived memory comes back by unarchive, a backup by restore",
        {"docs/operations.md": r"`vestig restore BACKUP`"},
        r"`vestig restore ID`|restore`? (of )?an archived memory",
    ),
]


@each(("claim", "places", "excluded"), CLAIMS, ids=lambda one: str(one)[:40])
def test_no_page_says_the_contrary(claim: str, places: dict[str, str], excluded: str) -> None:
    for page, said in places.items():
        assert re.search(said, PAGES[page], re.IGNORECASE), f"{page} does not say that {claim}"
    for page, text in PAGES.items():
        found = re.search(excluded, text, re.IGNORECASE)
        assert found is None, f"{page} says {found and found[0]!r}, and elsewhere {claim}"
