"""A call is one declaration: what surfaces, checks and docs need follows from its fields."""

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import click
import jsonschema
import pytest

from docs_blocks import described
from tables import each
from vestig.calls.argument import Flag, Id, Integer, Label, Number, Seed, Texts, Time, Words
from vestig.calls.declaration import Nested, Request, checked, given, required_of, rows_of
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.errors import ValidationError
from vestig.surfaces.cli.parameters import parameter
from vestig.surfaces.json_schema import arguments_schema, read_arguments
from vestig.surfaces.operation import Operation, operations


class PlaceRequest(Request, frozen=True, kw_only=True):
    """Where a crate stands."""

    call: ClassVar = "place"

    aisle: Annotated[str, Label("Its aisle.", chars_max=3, blank=False)]
    shelf: Annotated[int | None, Integer("Its shelf.", "--shelf", least=0, most=9)] = None


class CrateRequest(Request, frozen=True, kw_only=True):
    """A crate to look for."""

    call: ClassVar = "crate"

    name: Annotated[str, Label("Its name.", blank=False)]
    where: Annotated[Filter, Where("Which memories count.", beside=True)] = NO_FILTER
    # what a new argument costs beside the signature and its use
    weight: Annotated[float | None, Number("Kilograms.", "--weight", least=0, most=40)] = None
    marks: Annotated[tuple[str, ...], Words("Marks on it.", "--marks")] = ()
    sealed: Annotated[bool, Flag("Only sealed ones.", "--sealed")] = False
    packed: Annotated[int | None, Time("Packed at or after this time.")] = None
    place: Annotated[PlaceRequest | None, Nested("Where it stands.", of=PlaceRequest)] = None


def crate(
    name: str,
    *,
    where: Any = None,
    weight: float | None = None,
    marks: Any = (),
    sealed: bool = False,
    packed: Any = None,
    place: Any = None,
) -> CrateRequest:
    return checked(CrateRequest, given(locals()))


OPERATION = Operation(
    name="crate", call=CrateRequest, document="crate", text=lambda value, _: str(value)
)


def test_a_field_is_checked_offered_described_and_typed() -> None:
    assert crate("blue", weight=3).weight == 3.0
    with pytest.raises(ValidationError, match=r"^weight: expected a number from 0 to 40, got 41$"):
        crate("blue", weight=41)
    arguments = OPERATION.arguments
    assert arguments is not None
    schema = arguments_schema(arguments)
    assert schema["properties"]["weight"]["anyOf"][0] == {
        "type": "number",
        "minimum": 0,
        "maximum": 40,
    }
    assert read_arguments(arguments, {"name": "blue", "weight": 3.5})["weight"] == 3.5
    [option] = [parameter(row) for row in OPERATION.params if row.name == "weight"]
    assert isinstance(option, click.Option)
    assert ("--weight" in option.opts, option.type) == (True, click.FLOAT)
    assert "            weight: Kilograms.\n" in described(crate, CrateRequest)


def test_what_is_not_declared_is_not_taken() -> None:
    with pytest.raises(ValidationError) as caught:
        checked(CrateRequest, {"name": "blue", "wieght": 3})
    assert str(caught.value) == (
        "crate has no argument wieght; did you mean weight? It takes: name, where, weight, marks,"
        " sealed, packed, place, scope, tags, session_ids, exclude_session_ids, since, until"
    )
    with pytest.raises(ValidationError, match=r"^crate has no argument zzz; it takes: name, "):
        checked(CrateRequest, {"name": "blue", "zzz": 3})
    with pytest.raises(ValidationError, match=r"did you mean where\.authors\?"):
        checked(CrateRequest, {"name": "blue", "author": "Ann"})


def test_null_empty_zero_and_false_are_different() -> None:
    assert crate("blue").weight is None
    assert crate("blue", weight=0).weight == 0.0
    assert checked(CrateRequest, {"name": "blue", "marks": None}).marks == ()
    assert checked(CrateRequest, {"name": "blue", "marks": []}).marks == ()
    assert crate("blue", sealed=False).sealed is False
    for wrong in (0, "", "no", []):
        with pytest.raises(ValidationError, match="sealed: expected true or false"):
            crate("blue", sealed=wrong)  # type: ignore[arg-type]
    for blank in ("", " ", "\t"):
        with pytest.raises(ValidationError, match="name: expected text that is not blank"):
            crate(blank)


def test_an_object_within_an_argument_is_named_to_its_end() -> None:
    assert crate("blue", place={"aisle": "B", "shelf": 0}).place == PlaceRequest(aisle="B", shelf=0)
    for place, message in (
        ({"aisle": "B", "shelf": 10}, r"^place\.shelf: expected an integer from 0 to 9, got 10$"),
        ({"aisle": "BBBB"}, r"^place\.aisle: expected at most 3 characters"),
        ({"shelf": 1}, r"^place\.aisle: expected text that is not blank, got None$"),
        ({"aisle": "B", "shlef": 1}, r"^place has no field shlef; did you mean shelf\?"),
        ("B", r"^place: expected an object with any of aisle, shelf, got a str$"),
    ):
        with pytest.raises(ValidationError, match=message):
            crate("blue", place=place)


def test_a_missing_argument_is_named() -> None:
    assert required_of(CrateRequest) == ("name",)
    with pytest.raises(ValidationError, match="name: expected text that is not blank, got None"):
        checked(CrateRequest, {"weight": 1})


def test_keywords_beside_the_filter_are_fields_of_it() -> None:
    found = checked(CrateRequest, {"name": "blue", "tags": "a", "where": {"authors": "Ann"}})
    assert found.where.given() == {"tags": ("a",), "authors": ("Ann",)}
    with pytest.raises(ValidationError, match="tags: expected either the keyword or the field"):
        checked(CrateRequest, {"name": "blue", "tags": "a", "where": {"tags": "b"}})


ROWS: Mapping[str, tuple[Any, list[Any], list[Any]]] = {
    "Integer": (Integer("", least=2, most=5), [2, 5], [1, 6, True, "3", 2.5, None]),
    "Number": (Number("", least=-1, most=1), [-1, 0.5, 1], [1.1, "0", True, float("nan")]),
    "Label": (Label("", chars_max=2), ["", "ab"], ["abc", "a\0", 5]),
    "Time": (Time(""), ["2026-03-18", "2026-03-18T12:00Z"], ["soon", 5, "2026-13-01"]),
    "Id": (Id(""), ["mem_01234567", "01234567"], ["mem_1", "ent_01234567", 5]),
    "Texts": (Texts(""), ["a", ["a", "b"]], [[" "], [None], 5]),
    "Seed": (Seed(""), [0, 2**53 - 1, "random"], [-1, 2**53, "dice", True]),
}


@each("name", ROWS)
def test_what_fits_a_schema_is_taken_and_what_is_refused_does_not_fit(name: str) -> None:
    row, taken, refused = ROWS[name]
    checker = jsonschema.Draft202012Validator(row.schema())
    for value in taken:
        assert checker.is_valid(value), value
        row.check("x", row.of_json("x", value))
    for value in refused:
        with pytest.raises(ValidationError, match=r"^x(\[\d\])?: expected "):
            row.check("x", value)
        if repr(value) != "nan":  # JSON has none
            assert not checker.is_valid(value), value


def test_declarations_name_their_call_and_say_a_sentence_for_each_argument() -> None:
    assert len(operations()) > 30
    kinds: list[type[Request]] = Request.__subclasses__()
    for kind in kinds:
        assert kind.call
        for name, row in rows_of(kind).items():
            assert row.name == name
            assert row.help.endswith("."), (kind, name)
        assert set(rows_of(kind)) <= set(kind.__struct_fields__)


def test_the_arguments_of_a_method_are_those_that_are_there() -> None:
    mode: Literal["a", "b"] = "a"

    def method(self: object, limit: int | None = None, *, mode: str = mode) -> dict[str, Any]:
        return given(locals())

    assert method(object()) == {"mode": "a"}
    assert method(object(), 0) == {"limit": 0, "mode": "a"}
    assert list(inspect.signature(method).parameters) == ["self", "limit", "mode"]
