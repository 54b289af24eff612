"""What is derived when the caller does not say."""

from __future__ import annotations

from typing import Any

import vestig
from tables import each
from vestig.arguments import parse_time
from vestig.commit.text import derive_stability
from vestig.language.time.expressions import find_windows
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import Stability, derived_origin

NOW = parse_time("2026-03-18T12:00:00Z", "t_ref")


@each(
    ("role", "author", "session", "title", "origin"),
    [
        ("user", None, None, None, "chat_agent"),
        ("user", None, None, "Oslo", "chat_agent"),
        ("assistant", "bot", "s", None, "chat_agent"),
        ("tool", None, "s", None, "chat_agent"),
        ("system", "Dana", "s", None, "chat_peer"),
        (None, "Dana", "s", None, "chat_peer"),
        (None, "Dana", "s", "Oslo", "chat_peer"),
        (None, "Dana", None, "Oslo", "document"),
        (None, None, "s", "Oslo", "document"),
        (None, "Dana", None, None, "note"),
        (None, None, "s", None, "note"),
        ("system", None, None, None, "note"),
    ],
)
def test_the_origin_follows_from_role_author_session_and_title(
    role: str | None, author: str | None, session: str | None, title: str | None, origin: str
) -> None:
    assert derived_origin(role, author, session, title).value == origin


def stability(text: str, given: Stability | None = None) -> str:
    windows = find_windows(text, NOW)
    return derive_stability(text, windows, NOW, given=given).value


@each(
    "text",
    [
        "I am tired today",
        "Dana is on call tomorrow",
        "We're meeting in 2 days",
        "I will call her on Friday",
        "Right now it rains this morning",
        "going to sleep in 3 hours",
        "The report is due tomorrow",
    ],
)
def test_a_text_about_these_days_is_ephemeral(text: str) -> None:
    assert stability(text) == "ephemeral"


@each(
    "text",
    [
        "I am from Oslo",
        "Dana joined yesterday",
        "The release is in 2 weeks",
        "I am here today and tomorrow",
        "Dana was born on 5 March 1990 and is well",
        "He is away since last month",
        "He is away since yesterday",
        "the office opens at 9 am and is big",
        "Dana moved 2 days ago",
        "The call is on Thursday",
    ],
)
def test_other_texts_are_of_unknown_stability(text: str) -> None:
    assert stability(text) == "unknown"


def test_the_stability_of_the_caller_wins() -> None:
    assert stability("I am tired today", Stability.STATIC) == "static"
    assert stability("I am tired today", Stability.UNKNOWN) == "unknown"


@each(
    ("text", "times", "windows"),
    [
        # said now: counted from now
        ("The pump is broken until Sunday.", {}, [("Sunday", "2026-03-08")]),
        # it began another day, and nobody told when it was said
        ("The pump is broken until Sunday.", {"t_valid": "2026-02-10"}, []),
        ("The pump is broken until Sunday.", {"t_valid": "2026-04-10"}, []),
        # told
        (
            "The pump is broken until Sunday.",
            {"t_valid": "2026-02-10", "t_ref": "2026-02-10"},
            [("Sunday", "2026-02-15")],
        ),
        # both say the same
        ("The pump is broken until Sunday.", {"t_valid": "2026-03-02"}, [("Sunday", "2026-03-08")]),
        (
            "The fee is 30 euros since 3 May 2025.",
            {"t_valid": "2025-05-03"},
            [("since 3 May 2025", "2025-05-03")],
        ),
    ],
)
def test_no_day_is_counted_where_nobody_told_when_it_was_said(
    text: str, times: dict[str, Any], windows: list[tuple[str, str]]
) -> None:
    clock = FrozenClock("2026-03-04T10:00:00Z")
    with vestig.open(":memory:", embedder=HashingEmbedder(), clock=clock) as store:
        made = store.commit(text, **times)
        found = store.get(str(made.memory_id)).times
        read = [
            (one.text.removeprefix("until "), f"{one.start or one.end:%Y-%m-%d}") for one in found
        ]
        assert read == windows
        assert any("t_ref" in one for one in made.warnings) is (not windows)
