"""Keys and similar memories on the command line."""

from __future__ import annotations

import re

from command_answers import Vestig

KEY = "kettle, the big one"

NO_KEY = "(no value under this key; `vestig keys` lists those that have one)"


def test_the_latest_value_of_a_key(vestig: Vestig) -> None:
    first = vestig("add", "The kettle is red and loud", "--key", KEY, "--t-valid", "2024-01-01")
    old = first.out.split()[-1]
    second = vestig("add", "The kettle is blue and loud", "--key", KEY, "--t-valid", "2025-01-01")
    assert f"(supersedes {old})" in second.out
    shown = vestig("get", KEY)
    assert shown.out.startswith("The kettle is blue and loud\n\n")
    keys = [line for line in shown.out.split("\n") if line.startswith("key ")]
    assert [line.split(maxsplit=1)[1] for line in keys] == [KEY]
    assert vestig("memory", "get", KEY, "--json").document["key"] == KEY
    assert vestig("get", old).out.startswith("The kettle is red and loud\n\n")
    listed = vestig("list", "--keys", KEY, "--include-expired").out
    assert listed.count(f"| key={KEY} |") == 2
    assert vestig("count", "--key-prefix", "kettle").out.strip() == "1"
    assert f", date=2025-01-01, key={KEY})" in vestig("recall", "kettle").out
    assert f"Date: 2025-01-01\nKey: {KEY}\n" in vestig("search", "kettle").out
    late = vestig("add", "The kettle is grey and loud", "--key", KEY, "--t-valid", "2024-06-01")
    assert "warning: " in late.err
    assert "stays current under the key" in late.err


def test_keys_and_the_values_that_one_has_had(vestig: Vestig) -> None:
    assert vestig("keys").out == "No keys found.\n"
    for year, colour in (("2024", "red"), ("2025", "blue")):
        vestig(
            "add", f"The kettle is {colour} and loud", "--key", KEY, "--t-valid", f"{year}-01-01"
        )
    vestig("add", "The teapot is white", "--key", "teapot", "--scope", "user/ada")
    assert vestig("keys").out == f"{KEY}\nteapot\n"
    assert vestig("keys", "--prefix", "tea").out == "teapot\n"
    assert vestig("keys", "--scope", "user/ada", "--json").document["keys"] == ["teapot"]
    lines = [line.split(" | ") for line in vestig("history", KEY).out.splitlines()]
    assert [(one[0], one[1], one[2], one[4]) for one in lines] == [
        ("2024-01-01", "2025-01-01", "SUPERSEDED", "The kettle is red and loud"),
        ("2025-01-01", "–", "ACTIVE", "The kettle is blue and loud"),
    ]
    assert vestig("history", lines[0][3]).out == vestig("history", KEY).out
    missing = vestig("history", "saucer")
    assert (missing.code, missing.err.strip()) == (1, f"Error: Memory not found: saucer {NO_KEY}")


def test_a_history_is_whole_from_whichever_version_it_is_asked(vestig: Vestig) -> None:
    def added(text: str, *words: str) -> str:
        stored = vestig("add", text, "--on-near-dup", "insert", *words, "--json").document
        return str(stored["memory_id"])

    plain = added("The dues are 60 euros", "--t-valid", "2024-01-01")
    keyed = added("The dues are 65 euros", "--key", "dues", "--t-valid", "2025-01-01")
    vestig("supersede", plain, keyed)
    newest = added("The dues are 70 euros", "--key", "dues", "--t-valid", "2026-01-01")
    last = added("The dues were given up", "--t-valid", "2026-06-01")
    vestig("supersede", newest, last)
    whole = vestig("history", keyed).out
    assert [line.split(" | ")[3] for line in whole.splitlines()] == [plain, keyed, newest, last]
    for asked in (plain, newest, last, "dues"):
        assert vestig("history", asked).out == whole, asked


def test_what_has_no_key_is_told(vestig: Vestig) -> None:
    vestig("add", "The kettle is red and loud")
    unknown = vestig("get", "teapot")
    assert (unknown.code, unknown.err.strip()) == (1, f"Error: Memory not found: teapot {NO_KEY}")
    for key, why in ((" ", "not blank"), ("a\nb", "U+000A"), ("k" * 201, "201 characters")):
        refused = vestig("add", "The kettle is blue and loud", "--key", key)
        assert refused.code == 2
        assert why in refused.err


def test_similar_memories_are_told_with_the_command_that_replaces_them(vestig: Vestig) -> None:
    old = vestig("add", "The kettle in the kitchen is red and loud", "--t-valid", "2024-01-01")
    id = old.out.split()[-1]
    new = vestig("add", "The kettle in the kitchen is blue and loud")
    own = new.out.split("\n")[0].split()[-1]
    assert f"  2024-01-01  {id}  " in new.out
    assert f"If it replaces one of them: vestig supersede OLD {own}" in new.out
    earlier = vestig("supersede", own, id)
    assert earlier.code == 0
    assert "now holds at no time" in earlier.err


def test_a_history_of_one_day_has_times_and_what_was_withdrawn_held_never(
    vestig: Vestig,
) -> None:
    for text in ("Tea at one", "Tea at two"):
        vestig("add", text, "--key", "tea")
    lines = [line.split(" | ") for line in vestig("history", "tea").out.splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", line[0]) for line in lines)
    assert [line[1] == "–" for line in lines] == [False, True]
    vestig("add", "Cake on Mondays", "--key", "cake", "--t-valid", "2026-01-05")
    vestig("deprecate", vestig("history", "cake").out.split(" | ")[3])
    (line,) = vestig("history", "cake").out.splitlines()
    assert line.split(" | ")[:3] == ["2026-01-05", "withdrawn", "DEPRECATED"]


def test_a_list_shows_since_when_a_fact_holds_where_it_is_another_day(vestig: Vestig) -> None:
    vestig("add", "The fee is 40", "--t-valid", "2020-05-01")
    vestig("add", "The crane was oiled")
    old, new = sorted(
        vestig("list", "--ascending").out.splitlines(), key=lambda one: "fee" not in one
    )
    assert " | ACTIVE | since=2020-05-01 | The fee is 40" in old
    assert "since=" not in new


def test_a_value_of_another_key_is_not_offered_for_replacement(vestig: Vestig) -> None:
    text = "The staging server of the boat club listens on port {}"
    vestig("add", text.format(7070), "--key", "staging.port")
    new = vestig("add", text.format(7443), "--key", "production.port")
    assert "Similar" not in new.out
    plain = vestig("add", text.format(7171))
    assert plain.out.count("\n  ") == 2
    assert "If it replaces one of them" in plain.out
    other = vestig("add", text.format(7272), "--key", "test.port", "--json").document
    assert len(other["similar"]) == 3


def test_what_holds_until_an_announced_value_says_so(vestig: Vestig) -> None:
    first = vestig("add", "The fee is 40", "--key", "fee", "--t-valid", "2024-01-01")
    old = first.out.split()[-1]
    new = vestig("add", "The fee is 45", "--key", "fee", "--t-valid", "2090-01-01")
    assert f"(supersedes {old}, which holds until 2090-01-01)" in new.out
    (line,) = [one for one in vestig("list").out.splitlines() if old in one]
    assert line.endswith("| until 2090-01-01 | since=2024-01-01 | key=fee | The fee is 40")
    assert "SUPERSEDED" not in vestig("history", "fee").out
    assert "holds        since 2024-01-01 00:00 UTC, until 2090-01-01" in vestig("get", "fee").out
    assert vestig("count").out == "2\n"
