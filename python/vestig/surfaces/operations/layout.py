"""Options of the command line that shape what a recall prints, and how it walks."""

from __future__ import annotations

from typing import Final

from vestig.calls.argument import Choice, Flag

EXPLAIN: Final = Flag(
    "Say why each result is there; with --json, all that its score is made of.",
    "--explain",
    name="explain",
)
LAYOUT: Final = (
    EXPLAIN,
    Flag("Print the time of each stage on stderr.", "--timing", name="timing"),
    Choice(
        "Layout.",
        "--format",
        name="format",
        words=("text", "compact", "explain", "list", "json"),
    ),
)
# How edges are walked: keys of the configuration that a call may set.
WALK: Final = (
    Choice(
        "Whether edges are drawn or taken by a threshold.",
        "--mode",
        name="mode",
        words=("probabilistic", "deterministic"),
        default_text="walk.mode",
    ),
    Choice(
        "Whether the walk takes the strongest signal first, or goes depth first.",
        "--order",
        name="order",
        words=("best", "dfs"),
        default_text="walk.order",
    ),
)
