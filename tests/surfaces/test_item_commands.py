"""Values by key on the command line."""

from __future__ import annotations

import json

from command_answers import Vestig


def test_the_first_put_makes_a_store(vestig: Vestig) -> None:
    assert vestig("item", "get", "theme").code == 1
    assert (vestig("item", "list").out, vestig("item", "list").code) == ("No items found.\n", 0)
    first = vestig("item", "put", "theme", '{"dark": true}', "--text", "Ada prefers it dark")
    assert (first.code, first.out) == (0, "Item kept: theme (version 1)\n")
    again = vestig("item", "put", "theme", '{"dark":true}', "--text", "Ada prefers it dark")
    assert (again.code, again.out) == (0, "Item unchanged: theme (version 1)\n")
    assert vestig("item", "get", "theme").out == '{"dark": true}\n'
    assert "Ada prefers it dark" in vestig("recall", "what does Ada prefer?").out


def test_a_value_is_json_or_the_text_itself(vestig: Vestig) -> None:
    given = {"1e3": 1000.0, "null": None, "plain words": "plain words", '{"open': '{"open'}
    for text, value in given.items():
        assert vestig("item", "put", "k", text).code == 0
        assert vestig("item", "get", "k", "--json").document["value"] == value
    twice = vestig("item", "put", "k", '{"a": 1, "a": 2}')
    assert twice.code == 2
    assert "a" in twice.err


def test_an_unknown_key(vestig: Vestig) -> None:
    vestig("item", "put", "theme", "1", "--scope", "user/ada")
    for words in (("nothing",), ("theme",), ("theme", "--scope", "user")):
        answer = vestig("item", "get", *words)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err == f"Error: Item not found: {words[0]}\n"
    deleted = vestig("item", "delete", "theme", "--yes")
    assert (deleted.code, deleted.out) == (0, "Nothing to delete\n")
    assert vestig("item", "get", "theme", "--scope", "user/ada").code == 0


def test_another_version_than_expected(vestig: Vestig) -> None:
    vestig("item", "put", "draft", "one", "--expected", "0")
    late = vestig("item", "put", "draft", "two", "--expected", "0")
    assert (late.code, late.out) == (1, "")
    assert late.err == (
        "Error: expected: 'draft' has version 1, not 0; read it again, and put what follows from"
        " that\n"
    )
    assert vestig("item", "put", "draft", "two", "--expected", "1").code == 0
    assert vestig("item", "get", "draft").out == '"two"\n'


def test_several_puts_are_one(vestig: Vestig) -> None:
    good = {"key": "a", "value": [1], "scope": "crew/omar"}
    for other, why in (
        ({"key": ""}, "items[1].key: expected text of 1 to 512 characters"),
        ({"key": "b"}, "items[1].value: expected JSON"),
        ({"key": "b", "value": 1, "namespace": "x"}, "items[1].namespace"),
    ):
        refused = vestig("item", "put-many", json.dumps([good, other]))
        assert refused.code == 2
        assert why in refused.err
    assert "expected a JSON list of objects" in vestig("item", "put-many", '{"key": "a"}').err
    assert vestig("item", "list").out == "No items found.\n"
    done = vestig("item", "put-many", json.dumps([good, {"key": "b", "value": None}]))
    assert done.out == "Item kept: a (version 1)\nItem kept: b (version 1)\n"
    assert vestig("item", "scopes").out == "crew/omar\n"
    assert vestig("item", "scopes", "--depth", "1").out == "crew\n"
    page = vestig("item", "list", "--limit", "1").out
    assert page.endswith("1 to 1 of 2; --offset 1 goes on\n")


def test_delete_asks_first(vestig: Vestig) -> None:
    vestig("item", "put", "pin", "4711", "--text", "The pin of the door is set")
    plan = vestig("item", "delete", "pin", "--dry-run")
    assert plan.code == 0
    assert plan.out.startswith(
        "1 item would be deleted for good, with every version of the text (1 memory)\nNote: "
    )
    unasked = vestig("item", "delete", "pin")
    assert unasked.code == 2
    assert "--yes confirms it" in unasked.err
    assert vestig("item", "get", "pin").out == "4711\n"
    nothing = vestig("item", "delete", "--yes")
    assert nothing.code == 2
    assert "expected keys, a scope, or a scope_prefix" in nothing.err
    done = vestig("item", "delete", "pin", "--yes")
    assert done.code == 0
    assert done.out.startswith("1 item deleted: ")
    assert vestig("item", "get", "pin").code == 1
    assert vestig("count").out.strip() == "0"
