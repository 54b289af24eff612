"""Arguments as JSON: the schemas say what the reader and the engine take, and nothing else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import vestig
from tables import each
from vestig.api.admin import Admin
from vestig.api.anchors import Anchors
from vestig.api.branches import Branches
from vestig.api.graph import Graph
from vestig.api.items import Items
from vestig.api.rules import Rules
from vestig.api.store import Vestig
from vestig.calls.argument import Flag, Integer, Number, Time
from vestig.calls.condition import EXAMPLE
from vestig.calls.filter import BOUNDS, FIELDS, KEYWORDS
from vestig.errors import NotFoundError, ProviderError, ValidationError
from vestig.surfaces.json_schema import (
    arguments_schema,
    body_schema,
    decoded,
    definitions,
    read_arguments,
    where_name,
)
from vestig.surfaces.operation import Arguments, operation, operations
from vestig.testing import HashingEmbedder

OFFERED = {op.name: op.arguments for op in operations() if op.arguments is not None}
FILTERED = [name for name, arguments in OFFERED.items() if arguments.where is not None]


def arguments_of(name: str) -> Arguments:
    found = operation(name).arguments
    assert found is not None
    return found


@cache
def shared_definitions() -> dict[str, Any]:
    """The definitions of all schemas, checked once."""
    found = definitions()
    jsonschema.Draft202012Validator.check_schema({"$defs": found})
    return found


@cache
def checker(name: str) -> jsonschema.Draft202012Validator:
    schema = arguments_schema(arguments_of(name))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema | {"$defs": shared_definitions()})


@each(
    ("given", "read"),
    [
        ({"content": "a, b", "tags": "a, b"}, {"content": "a, b", "tags": ["a", "b"]}),
        ({"content": "[1]", "tags": "[]"}, {"content": "[1]", "tags": []}),
        ({"content": "a", "metadata": '{"n": 1}'}, {"content": "a", "metadata": {"n": 1}}),
        ({"content": "a", "entities": '[{"name": "Ada"}]'}, {"entities": [{"name": "Ada"}]}),
        ({"content": "a", "supersedes": '["mem_12345678"]'}, {"supersedes": ["mem_12345678"]}),
        ({"content": "a", "keywords": '["b, c"]'}, {"keywords": ["b, c"]}),
        ({"content": "a", "tags": '{"a": 1}'}, {"tags": '{"a": 1}'}),
        ({"content": "a", "tags": '["a", "a'}, {"tags": ['["a"', '"a']}),
    ],
)
def test_what_stands_in_a_text(given: dict[str, Any], read: dict[str, Any]) -> None:
    found = read_arguments(arguments_of("memory add"), given)
    assert found.items() >= read.items()


@pytest.mark.parametrize("text", ["a[b", "a [1], b", " (a]", "{a}", "x, [y"])
def test_a_bracket_within_a_text_is_a_sign_like_others(text: str) -> None:
    given = {"content": "a", "tags": text}
    assert checker("memory add").is_valid(given)
    words = [part.strip() for part in text.split(",")]
    assert read_arguments(arguments_of("memory add"), given)["tags"] in (text, words)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"tags": "[1]"}, "tags[0]: expected text, got an int"),
        ({"keywords": "a, b"}, "keywords: expected a list, got a text with a comma"),
        ({"entities": "Tumblr, Inc."}, "entities: expected a list"),
        ({"metadata": "[1]"}, "metadata: expected an object"),
    ],
)
def test_what_a_text_cannot_stand_for(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read_arguments(arguments_of("memory add"), {"content": "a", **given})
    assert str(caught.value).startswith(told)


def test_the_operations_that_agents_need_are_offered_as_json() -> None:
    assert {
        "memory add",
        "memory recall",
        "memory show",
        "memory list",
        "count",
        "memory deprecate",
        "memory supersede",
        "memory forget",
        "search",
        "graph search",
        "stats",
    } <= set(OFFERED)


@each("name", OFFERED)
def test_every_argument_of_the_call_is_in_the_schema(name: str) -> None:
    arguments = OFFERED[name]
    place, _, method = arguments.method.rpartition(".")
    owners: dict[str, Any] = {
        "": Vestig,
        "admin": Admin,
        "graph": Graph,
        "items": Items,
        "rules": Rules,
        "anchors": Anchors,
        "branches": Branches,
    }
    call = getattr(owners[place], method)
    # functions and files are a program's
    taken = set(inspect.signature(call).parameters) - {"self", "on_commit", "progress", "target"}
    taken -= {"touch"} if name == "memory show" else set()  # what is only read writes nothing
    if arguments.where is not None:
        taken -= set(KEYWORDS) - set(arguments.rows)
    shown = set(arguments_schema(arguments)["properties"])
    assert shown == taken | ({"confirm"} if arguments.confirmed else set())


@each("name", OFFERED)
def test_a_schema_forbids_other_fields_and_describes_each(name: str) -> None:
    schema = arguments_schema(OFFERED[name])
    assert schema["additionalProperties"] is False
    assert all(field["description"] for field in schema["properties"].values())
    assert not checker(name).is_valid({"surprise": 1})
    with pytest.raises(ValidationError):
        read_arguments(OFFERED[name], {"surprise": 1})


def test_where_is_one_definition_for_each_kind_of_call() -> None:
    shown = definitions()
    for name in FILTERED:
        where = OFFERED[name].where
        assert where is not None
        kind = where_name(where)
        fields = set(FIELDS) - (set() if where.query else {"min_similarity"})
        assert set(shown[kind]["properties"]) == fields
        assert shown[kind]["additionalProperties"] is False
        reference = arguments_schema(OFFERED[name])["properties"]["where"]["anyOf"][0]
        assert reference == {"$ref": f"#/$defs/{kind}"}
    moved = arguments_schema(arguments_of("count"), refs="#/components/schemas/")
    assert moved["properties"]["where"]["anyOf"][0] == {"$ref": "#/components/schemas/Where"}


@each(
    ("name", "field"),
    [(name, field) for name in FILTERED for field in KEYWORDS if field not in OFFERED[name].rows],
)
def test_keywords_beside_where_are_unknown_and_the_hint_says_where(name: str, field: str) -> None:
    assert not checker(name).is_valid({field: "a"})
    own = {("diff", "since"): "start", ("diff", "until"): "end"}
    meant = re.escape(own.get((name, field), f"where.{field}"))
    with pytest.raises(ValidationError, match=rf"did you mean {meant}\?"):
        read_arguments(OFFERED[name], {field: "a"})


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(ValidationError, match="did you mean limit"):
        read_arguments(arguments_of("memory recall"), {"query": "a", "limt": 3})


def test_a_whole_number_is_an_integer_however_json_writes_it() -> None:
    for value in (5, 5.0):
        given = {"query": "a", "limit": value}
        assert checker("memory recall").is_valid(given)
        read = read_arguments(arguments_of("memory recall"), given)["limit"]
        assert (type(read), read) == (int, 5)


@each("value", [True, 5.5, "5", [5], {}, 2.0**60])
def test_only_an_integer_is_an_integer(value: object) -> None:
    with pytest.raises(ValidationError, match="limit: expected an integer"):
        read_arguments(arguments_of("memory recall"), {"query": "a", "limit": value})


@pytest.mark.parametrize("value", [2**53, -(2**60), 10**4_400], ids=["54", "61", "digits"])
def test_an_integer_that_no_reader_of_json_holds_is_told_so(value: int) -> None:
    told = "limit: expected an integer of at most 53 bits, got a larger one"
    with pytest.raises(ValidationError, match=f"^{told}$"):
        read_arguments(arguments_of("memory recall"), {"query": "a", "limit": value})


@pytest.mark.parametrize("given", [None, [], "text", 5, True])
def test_only_an_object_holds_arguments(given: object) -> None:
    with pytest.raises(ValidationError, match="a JSON object"):
        read_arguments(arguments_of("count"), given)


@each(
    "data",
    [
        b"NaN",
        b'{"limit": Infinity}',
        b"-Infinity",
        b"1e999",
        b'{"silence": -1e999}',
        b"9" * 5000,
        b'"\\ud800"',
        b'"\xff"',
        b"[" * 100_000,
        b'{"a":' * 5000,
        b"",
        b"{",
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_unreadable_json_is_a_wrong_argument(data: bytes) -> None:
    with pytest.raises(ValidationError, match="body: expected JSON text"):
        decoded(data)


def test_null_is_absent_and_a_required_name_has_to_be_there() -> None:
    commit = arguments_of("memory add")
    assert read_arguments(commit, {"content": "a", "author": None}) == {"content": "a"}
    for given in ({}, {"content": None}):
        assert not checker("memory add").is_valid(given)
        with pytest.raises(ValidationError, match="content: expected text, got nothing"):
            read_arguments(commit, given)


def test_forgetting_has_to_be_confirmed_unless_it_only_shows_the_plan() -> None:
    forget = arguments_of("memory forget")
    for given in ({}, {"confirm": False}, {"confirm": None}, {"dry_run": False}):
        with pytest.raises(ValidationError, match="confirm: expected true"):
            read_arguments(forget, {"ids": ["mem_12345678"], **given})
    with pytest.raises(ValidationError, match="confirm: expected true or false"):
        read_arguments(forget, {"ids": ["mem_12345678"], "confirm": 1})
    sure = read_arguments(forget, {"ids": ["mem_12345678"], "confirm": True})
    assert sure == {"ids": ["mem_12345678"]}
    assert read_arguments(forget, {"dry_run": True}) == {"dry_run": True}


@pytest.fixture(scope="module")
def store() -> Any:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        store.commit("Deploys run on Fridays at noon", author="Omar", tags=["infra"])
        yield store


def bounds() -> list[tuple[str, str, float, bool]]:
    """(operation, argument, value, whether it is inside) at each bound of each number."""
    found: list[tuple[str, str, float, bool]] = []
    for name, arguments in OFFERED.items():
        for row in arguments.rows.values():
            if not isinstance(row, (Integer, Number)):
                continue
            step = 1 if isinstance(row, Integer) else 0.5
            found += [
                (name, row.name, row.least, True),
                (name, row.name, row.least - step, False),
            ]
            if row.most is not None and row.most < 2**53:
                found += [
                    (name, row.name, row.most, True),
                    (name, row.name, row.most + step, False),
                ]
    return found


# Texts that a store takes, by what a pattern might forbid of them.
TEXTS = (
    "No trailers.",
    "Line one of a text\nand line two\twith a tab",
    "Το ποδήλατο επέστρεψε χωρίς το κλειδί.",  # noqa: RUF001
    "مرحبا بالعالم هذا نص طويل",
    "日本語のテキストをここに書きます",
    "🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲🚲",
    "[draft] the shop is shut, perhaps",
    "word " * 2_000,
)
LISTS = ("decisions", "rationale", "hypothetical_queries", "keywords", "tags", "entities")
TIMES = (
    "0001-01-01",
    "2000-02-29",
    "9999-12-31",
    " 2026-03-18 ",
    "2026-03-18 12:00 +01:00",
    "2026-03-18t12:00:00,5z",
)
TAKEN: list[tuple[str, dict[str, Any]]] = [
    *(("memory add", {"content": text}) for text in TEXTS),
    *(("memory add", {"content": "The lift stops at two", "t_ref": time}) for time in TIMES),
    *(
        ("memory add", {"content": "The lift stops at two", "key": key})
        for key in ("Σπίτι", "家", "a key of words", "../up", "🚲")
    ),
    *(
        ("memory add-structured", {"topic": text, "context": text, name: [text]})
        for text in TEXTS[:6]
        for name in LISTS
    ),
    ("memory add", {"content": "The lift stops at two", "tags": "[a"}),
    ("memory add", {"content": "Thanks!", "role": "user", "session_id": "s"}),
    ("memory add", {"content": "The lift stops at two", "hypothetical_queries": ["x" * 5_000]}),
    *(("rule add", {"text": text, "when": 'command ~ "git push*"'}) for text in TEXTS[:6]),
    *(("document add", {"text": text * 200}) for text in TEXTS),
    *(("memory recall", {"query": text}) for text in (*TEXTS, "\0", "7")),
    *(("memory recall", {"query": "lift", "seed": seed}) for seed in ("7", "random", 7)),
    *(("memory recall", {"query": "lift", "as_of": time}) for time in TIMES),
    *(
        (
            "rule add",
            {"text": "Ask before the lift is moved", "when": condition, "unless": condition},
        )
        for condition in (
            EXAMPLE,
            "tool=Bash",
            " not (tool in (Bash, 'Read \u03c3')) or text ~ \"\u00bfqu\u00e9?\"",
            'command ~ "a && b | c@d"',
        )
    ),
    *(("rule edit", {"id": "mem_00000000", "unless": unless}) for unless in ("", EXAMPLE)),
    *(
        ("memory add", {"content": "The lift stops at two", "anchor": anchor})
        for anchor in (
            "a.py:1-2",
            "caf\u00e9 (1).md:2",
            ["a.py", "caf\u00e9 (1).md"],
            "https://example.org/spec?a=b 9f2c",
        )
    ),
    ("retrieve", {"messages": [{"content": "Where does the lift stop?"}]}),
    ("graph neighbourhood", {"ids": ["mem_00000000"] * 1_001}),
    ("item delete", {"keys": ["a"] * 1_001, "dry_run": True}),
    ("memory forget", {"ids": ["mem_00000000"], "where": {}, "dry_run": True}),
    ("edge link", {"from_id": "mem_00000000", "to_id": "mem_00000001"}),
    *(
        ("graph search", {"seed_nodes": [], "query": "lift", "type": way})
        for way in ("hybrid", None)
    ),
    *(
        ("graph search", {"seed_nodes": "mem_00000000", "query": query, **way})
        for query in ("lift", "", None)
        for way in ({}, {"type": None}, {"type": "hybrid"}, {"type": "graph"})
    ),
    *(
        ("memory update", {"id": "mem_00000000", "tags": ["a"], "clear": clear})
        for clear in ([], None, ["metadata"], "scope")
    ),
]
# Not taken, because of what else is given.
REFUSED_TOGETHER: list[tuple[str, dict[str, Any]]] = [
    ("graph search", {}),
    ("graph search", {"query": " ", "type": "hybrid"}),
    ("graph search", {"query": "lift", "type": "graph"}),
    ("graph search", {"seed_nodes": "mem_00000000", "type": "vector"}),
    ("graph search", {"seed_nodes": []}),
    ("memory update", {"id": "mem_00000000", "content": "The lift stops", "topic": "Lift"}),
]


@each(("name", "given"), TAKEN)
def test_no_schema_forbids_what_is_taken(name: str, given: dict[str, Any], tmp_path: Path) -> None:
    for file in ("a.py", "caf\u00e9 (1).md"):
        (tmp_path / file).write_text("one\ntwo\n")
    config = {"anchors": {"folder": str(tmp_path)}}
    with vestig.open(":memory:", config=config, embedder=HashingEmbedder()) as store:
        arguments = OFFERED[name]
        # what is not there is another matter than what is wrong
        with suppress(NotFoundError):
            outcome = arguments.answer(store, read_arguments(arguments, given))
            assert getattr(outcome, "hygiene_reasons", ()) == () or len(given["content"]) > 9_000
    whole = body_schema(arguments_schema(arguments), arguments) | {"$defs": shared_definitions()}
    jsonschema.Draft202012Validator(whole).validate(given)


@each(("name", "given"), REFUSED_TOGETHER)
def test_schemas_say_what_is_refused_together(name: str, given: dict[str, Any]) -> None:
    arguments = OFFERED[name]
    with (
        vestig.open(":memory:", embedder=HashingEmbedder()) as store,
        pytest.raises(ValidationError),
    ):
        arguments.answer(store, read_arguments(arguments, given))
    whole = body_schema(arguments_schema(arguments), arguments) | {"$defs": shared_definitions()}
    assert not jsonschema.Draft202012Validator(whole).is_valid(given)


def test_an_export_of_all_may_have_an_empty_filter() -> None:
    arguments = OFFERED["export"]
    whole = body_schema(arguments_schema(arguments), arguments) | {"$defs": shared_definitions()}
    validator = jsonschema.Draft202012Validator(whole)
    for empty in ({}, None, {"tags": None}, {"metadata": {}}):
        assert validator.is_valid({"all_namespaces": True, "where": empty}), empty
    assert not validator.is_valid({"all_namespaces": True, "where": {"tags": "a"}})


def test_what_no_request_can_have_is_in_no_schema() -> None:
    """A folder of Markdown is written where the store is."""
    assert checker("export").is_valid({"format": "jsonl"})
    assert not checker("export").is_valid({"format": "md"})


@pytest.fixture
def other_memory(store: Vestig) -> Iterator[str]:
    id = store.commit("The pump was repaired by the night shift").memory_id
    assert id is not None
    yield id
    store.forget(id)


@pytest.fixture
def entity(store: Vestig) -> Iterator[str]:
    outcome = store.commit("Programs were first written down by Ada Lovelace")
    yield outcome.entities[0]
    store.forget(str(outcome.memory_id))


@pytest.mark.parametrize(("name", "argument", "value", "inside"), bounds())
def test_bounds_of_schemas_are_those_of_the_engine(
    name: str,
    argument: str,
    value: float,
    inside: bool,
    store: Vestig,
    request: pytest.FixtureRequest,
) -> None:
    memory = store.list()[0].id
    base: dict[str, Any] = {
        "memory add": {"content": "A pump failed", "dry_run": True, "session_id": "s"},
        "memory add-structured": {
            "topic": "Pump",
            "context": "It failed",
            "dry_run": True,
            "session_id": "s",
        },
        "item put": {"key": "colour", "value": "green"},
        "memory show": {"id": memory},
        "memory events": {"id": memory},
        "memory recall": {"query": "deploys", "context": True},
        "search": {"query": "deploys", "context": True},
        "graph search": {"query": "deploys"},
        "graph neighbourhood": {"ids": [memory]},
        "retrieve": {"messages": [{"role": "user", "content": "When do deploys run?"}]},
    }.get(name, {})
    if name == "edge link":
        other = request.getfixturevalue("other_memory")
        base = {"from_id": memory, "to_id": other}
    if name == "edge show":
        base = {"id": store.graph.link(memory, request.getfixturevalue("other_memory")).id}
    if name == "entity show":
        base = {"id": request.getfixturevalue("entity")}
    given = base | {argument: value}
    assert checker(name).is_valid(given) == inside
    arguments = OFFERED[name]
    if inside:
        # the arguments are checked before there is a look for a model
        modelled = pytest.raises(ProviderError) if name == "cognify" else nullcontext()
        with modelled:
            arguments.answer(store, read_arguments(arguments, given))
    else:
        with pytest.raises(ValidationError, match=argument):
            arguments.answer(store, read_arguments(arguments, given))


@each("field", [name for name in FIELDS if name != "min_similarity"])
def test_a_field_of_where_without_a_value_is_absent_for_schema_and_engine(
    field: str, store: Vestig
) -> None:
    count = arguments_of("count")
    for nothing in (None, "", {}):
        given = {"where": {field: nothing}}
        if nothing is not None and field in BOUNDS:
            assert not checker("count").is_valid(given)
            with pytest.raises(ValidationError, match=field):
                count.answer(store, read_arguments(count, given))
            continue
        assert checker("count").is_valid(given)
        assert count.answer(store, read_arguments(count, given)) == 1
    empty = {"where": {field: []}}
    if checker("count").is_valid(empty):
        found = count.answer(store, read_arguments(count, empty))
        assert found == int(field.startswith("exclude_"))
    else:
        with pytest.raises(ValidationError, match=field):
            count.answer(store, read_arguments(count, empty))


@pytest.mark.parametrize("first", ["since", "created_since"])
def test_a_window_without_length_is_refused_and_the_schema_says_so(
    first: str, store: Vestig
) -> None:
    last = first.replace("since", "until")
    count = arguments_of("count")
    for end in ("2026-03-18T00:00Z", "2026-03-17"):
        where = {first: "2026-03-18", last: end}
        with pytest.raises(ValidationError, match=f"^{first}: expected a time before {last}"):
            count.answer(store, read_arguments(count, {"where": where}))
    assert re.search(rf"\b{first} < {last}\b", definitions()["Where"]["description"])


WRONG_FIELDS = [
    {"tags": [None]},
    {"tags": [" "]},
    {"tags": " "},
    {"authors": 5},
    {"unscoped": 1},
    {"pinned": "yes"},
    {"metadata": [1]},
    {"kinds": ["NOTE"]},
    {"tags_mode": "some"},
    {"since": 5},
    {"min_similarity": 1.5},
    {"min_similarity": True},
    {"tag": "infra"},
]


@each("where", WRONG_FIELDS, ids=str)
def test_a_wrong_field_of_where_is_refused_by_schema_and_engine(
    where: dict[str, Any], store: Vestig
) -> None:
    search = arguments_of("search")
    given = {"query": "deploys", "where": where}
    assert not checker("search").is_valid(given)
    with pytest.raises(ValidationError):
        search.answer(store, read_arguments(search, given))


def test_one_object_with_every_field_passes(store: Vestig) -> None:
    where: dict[str, Any] = dict.fromkeys(FIELDS, "mem_12345678")
    where |= {name: "2026-03-18" for name, row in FIELDS.items() if isinstance(row, Time)}
    where |= {name: False for name, row in FIELDS.items() if isinstance(row, Flag)}
    where |= {n: row.choices[0] for n, row in FIELDS.items() if getattr(row, "choices", ())}
    where |= {"metadata": {"team": None}, "min_similarity": -0.5}
    where |= {"until": "2027-01-01", "created_until": "2027-01-01"}
    given = {"query": "deploys", "where": where}
    checker("memory recall").validate(given)
    recall = arguments_of("memory recall")
    assert len(recall.answer(store, read_arguments(recall, given))) == 0
