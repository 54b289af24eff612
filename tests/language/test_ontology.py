"""The types of entities."""

from __future__ import annotations

from typing import Any

import pytest

from tables import each
from vestig.errors import ConfigError
from vestig.language.ontology import UNTYPED, read_ontology

TIERS = {
    "PERSON": 1,
    "ORG": 1,
    "SYSTEM": 1,
    "PROJECT": 1,
    "PLACE": 2,
    "SKILL": 2,
    "TOOL": 2,
    "FILE": 2,
    "CONCEPT": 3,
    "CAPABILITY": 3,
}
INSIGHTS = {
    "PRINCIPLE": 2,
    "HEURISTIC": 2,
    "INSIGHT": 2,
    "PROBLEM": 2,
    "SOLUTION": 2,
    "TECHNIQUE": 2,
    "ANTIPATTERN": 3,
    "METALEARNING": 3,
}


def test_built_in_types_and_their_tiers() -> None:
    types = read_ontology(None)
    assert {type.name: type.tier for type in types.types} == TIERS
    assert UNTYPED not in types.names
    untyped = types.get(UNTYPED)
    assert untyped is not None
    assert untyped.tier == 3


def test_insight_adds_eight() -> None:
    types = read_ontology({"ontology": "insight"})
    assert {type.name: type.tier for type in types.types} == TIERS | INSIGHTS


def test_names_case_synonyms_and_defaults() -> None:
    section = {
        "ontology": [
            {
                "name": " recipe ",
                "description": "How a dish is made",
                "synonyms": ["dish", "meal"],
                "examples": ["Apple pie"],
            },
            {"name": "Cook", "description": "Who makes it", "tier": 1},
        ]
    }
    types = read_ontology(section)
    assert types.names == ("RECIPE", "COOK")
    assert [types.resolve(name) for name in ("Recipe", " MEAL ", "dish", "cook", "PERSON")] == [
        "RECIPE",
        "RECIPE",
        "RECIPE",
        "COOK",
        None,
    ]
    recipe = types.get("dish")
    assert recipe is not None
    assert (recipe.tier, recipe.examples) == (2, ("Apple pie",))


def test_a_name_goes_before_another_types_synonym() -> None:
    section = {
        "ontology": [
            {"name": "A", "description": "first", "synonyms": ["B"]},
            {"name": "B", "description": "second"},
        ]
    }
    assert read_ontology(section).resolve("b") == "B"


def test_allowed_types_keep_what_is_built_in() -> None:
    types = read_ontology({"allowed_types": ["person", " Recipe "]})
    assert types.names == ("PERSON", "RECIPE")
    person, recipe = types.types
    assert person.tier == 1
    assert (recipe.tier, recipe.description) == (2, "Entity type: RECIPE")


def test_ontology_wins_over_allowed_types() -> None:
    section = {"ontology": [{"name": "A", "description": "a"}], "allowed_types": ["B"]}
    assert read_ontology(section).names == ("A",)


@each(
    ("section", "said"),
    [
        ({}, "expected the key ontology or allowed_types, got neither"),
        ({"ontology": None, "allowed_types": None}, "got neither"),
        ({"ontology": "other"}, "entities.ontology: expected a list of objects"),
        ({"allowed_types": "PERSON"}, "entities.allowed_types: expected a list of names"),
        ({"allowed_types": [1]}, "entities.allowed_types[0]: expected text, got int"),
        ({"allowed_types": [" "]}, "entities.allowed_types[0]: expected text that is not"),
        ({"allowed_types": ["a", "A "]}, "allowed_types[1]: the name A is there twice"),
        ({"allowed_types": ["untyped"]}, "allowed_types[0]: UNTYPED is what names without a type"),
        ({"ontology": ["PERSON"]}, "entities.ontology[0]: expected an object"),
        ({"ontology": [{"description": "a"}]}, "ontology[0].name: expected text, got nothing"),
        ({"ontology": [{"name": "A"}]}, "ontology[0].description: expected text, got nothing"),
        ({"ontology": [{"name": " ", "description": "a"}]}, "ontology[0].name: expected text that"),
        ({"ontology": [{"name": "A", "description": ""}]}, "ontology[0].description: expected"),
        (
            {"ontology": [{"name": "A", "description": "a", "synonyms": [3]}]},
            "ontology[0].synonyms[0]: expected text, got int",
        ),
        (
            {"ontology": [{"name": "A", "description": "a", "examples": "x"}]},
            "ontology[0].examples: expected a list of texts, got str",
        ),
        ({"ontology": [{"name": "A", "description": "a", "tier": 4}]}, "tier: expected 1, 2 or 3"),
        ({"ontology": [{"name": "A", "description": "a", "tiers": 1}]}, "got 'tiers'"),
        (
            {"ontology": [{"name": "A", "description": "a"}, {"name": "a", "description": "b"}]},
            "ontology[1]: the name A is there twice",
        ),
        ({"ontology": [{"name": "UNTYPED", "description": "a"}]}, "ontology[0]: UNTYPED is"),
    ],
)
def test_every_error_names_its_place(section: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_ontology(section)
    assert said in str(caught.value)
