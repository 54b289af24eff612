"""The ontology: the types that an entity may have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from vestig.errors import ConfigError

# The type of a name whose type no rule knows; equals every other type in comparisons.
UNTYPED: Final = "UNTYPED"
_TIER: Final = 2
_TIERS: Final = (1, 2, 3)
_INSIGHT: Final = "insight"
_KEY: Final = "entities"


class EntityType(msgspec.Struct, frozen=True, kw_only=True):
    """One type. Tier 1 is always extracted, 2 when it matters in context, 3 only with high
    certainty."""

    name: str
    description: str
    tier: int = _TIER
    synonyms: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Ontology:
    """The types of a store; look-ups ignore case and outer space, synonyms name their type.

    Example:
        >>> types = read_ontology(None)
        >>> types.resolve(" person "), types.resolve("GALAXY"), types.get("FILE").tier
        ('PERSON', None, 2)
    """

    def __init__(self, types: Iterable[EntityType]) -> None:
        self.types: Final = tuple(types)
        self._names: dict[str, EntityType] = {}
        for type in self.types:
            for synonym in type.synonyms:
                self._names.setdefault(_key(synonym), type)
        # a name goes before a synonym of another type
        self._names |= {type.name: type for type in self.types}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the types in the order given."""
        return tuple(type.name for type in self.types)

    def resolve(self, name: str) -> str | None:
        """The type that a name or synonym stands for; None when there is none."""
        found = self._names.get(_key(name))
        return None if found is None else found.name

    def get(self, name: str) -> EntityType | None:
        """The whole type; `UNTYPED` is one of tier 3."""
        return _UNTYPED if _key(name) == UNTYPED else self._names.get(_key(name))


def _key(name: str) -> str:
    return name.strip().upper()


_UNTYPED: Final = EntityType(
    name=UNTYPED, description="A name whose type the rules cannot tell", tier=3
)
_BUILT_IN: Final = (
    EntityType(
        name="PERSON",
        description="A human being, by name or address",
        tier=1,
        synonyms=("HUMAN", "PEOPLE"),
        examples=("Ada Lovelace",),
    ),
    EntityType(
        name="ORG",
        description="A company, institution or team",
        tier=1,
        synonyms=("ORGANIZATION", "ORGANISATION", "COMPANY"),
        examples=("Acme Ltd",),
    ),
    EntityType(
        name="SYSTEM",
        description="A running system, service, component or technical identifier",
        tier=1,
        synonyms=("SERVICE",),
        examples=("PostgreSQL",),
    ),
    EntityType(
        name="PROJECT",
        description="A named undertaking with a goal",
        tier=1,
        examples=("Project Aurora",),
    ),
    EntityType(
        name="PLACE",
        description="A place, real or virtual",
        synonyms=("LOCATION",),
        examples=("Lake Geneva",),
    ),
    EntityType(
        name="SKILL",
        description="Something a person or program can do or has learnt",
        examples=("C++",),
    ),
    EntityType(
        name="TOOL",
        description="A program or device that is used",
        examples=("ripgrep",),
    ),
    EntityType(
        name="FILE",
        description="A file or folder, by name or path",
        synonyms=("PATH",),
        examples=("src/main.rs",),
    ),
    EntityType(
        name="CONCEPT",
        description="A term of a domain, of more than one word",
        tier=3,
        synonyms=("TOPIC",),
        examples=("eventual consistency",),
    ),
    EntityType(
        name="CAPABILITY",
        description="Something a system offers",
        tier=3,
        examples=("offline search",),
    ),
)
_INSIGHTS: Final = (
    EntityType(name="PRINCIPLE", description="A rule that guides decisions"),
    EntityType(name="HEURISTIC", description="A rule of thumb that usually works"),
    EntityType(name="INSIGHT", description="Something understood that was not obvious"),
    EntityType(name="PROBLEM", description="Something that goes wrong or hinders"),
    EntityType(name="SOLUTION", description="What removes a problem"),
    EntityType(name="TECHNIQUE", description="A way to do something"),
    EntityType(name="ANTIPATTERN", description="A way that looks right and is not", tier=3),
    EntityType(name="METALEARNING", description="Something learnt about learning", tier=3),
)


def read_ontology(section: Mapping[str, Any] | None) -> Ontology:
    """The types that the configuration section `entity_types` names; None = the built-in ten.

    Args:
        section: `ontology` (a list of objects, or the word `insight`) or `allowed_types` (a
            list of names); `ontology` wins. A key with the value None is absent.

    Raises:
        ConfigError: what is wrong and where.

    Example:
        >>> read_ontology({"allowed_types": ["person", "Recipe"]}).types[1].description
        'Entity type: RECIPE'
    """
    if section is None:
        return Ontology(_BUILT_IN)
    rich, names = section.get("ontology"), section.get("allowed_types")
    if rich is not None:
        return _from_ontology(rich)
    if names is not None:
        return _from_names(names)
    raise ConfigError(f"{_KEY}: expected the key ontology or allowed_types, got neither")


def _from_ontology(given: object) -> Ontology:
    where = f"{_KEY}.ontology"
    if given == _INSIGHT:
        return Ontology((*_BUILT_IN, *_INSIGHTS))
    entries = _list(where, given, f"a list of objects, or the word {_INSIGHT}")
    types = [_entry(f"{where}[{at}]", entry) for at, entry in enumerate(entries)]
    return _checked(where, types)


def _from_names(given: object) -> Ontology:
    where = f"{_KEY}.allowed_types"
    known = {type.name: type for type in _BUILT_IN}
    types = []
    for at, raw in enumerate(_list(where, given, "a list of names")):
        name = _key(_text(f"{where}[{at}]", raw))
        own = EntityType(name=name, description=f"Entity type: {name}")
        types.append(known.get(name, own))
    return _checked(where, types)


def _entry(where: str, entry: object) -> EntityType:
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"{where}: expected an object with name and description, got {_is(entry)}"
        )
    for key in entry:
        if key not in EntityType.__struct_fields__:
            allowed = ", ".join(EntityType.__struct_fields__)
            raise ConfigError(f"{where}: expected the keys {allowed}, got {str(key)[:60]!r}")
    tier = entry.get("tier", _TIER)
    if isinstance(tier, bool) or tier not in _TIERS:
        raise ConfigError(f"{where}.tier: expected 1, 2 or 3, got {str(tier)[:60]!r}")
    return EntityType(
        name=_key(_text(f"{where}.name", entry.get("name"))),
        description=_text(f"{where}.description", entry.get("description")).strip(),
        tier=tier,
        synonyms=_texts(f"{where}.synonyms", entry.get("synonyms", ())),
        examples=_texts(f"{where}.examples", entry.get("examples", ())),
    )


def _checked(where: str, types: list[EntityType]) -> Ontology:
    seen = set[str]()
    for at, type in enumerate(types):
        if type.name == UNTYPED:
            raise ConfigError(f"{where}[{at}]: {UNTYPED} is what names without a type have; leave"
                              " it out")  # fmt: skip
        if type.name in seen:
            raise ConfigError(f"{where}[{at}]: the name {type.name} is there twice; keep one")
        seen.add(type.name)
    return Ontology(types)


def _list(where: str, given: object, allowed: str) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise ConfigError(f"{where}: expected {allowed}, got {_is(given)}")
    return list(given)


def _texts(where: str, given: object) -> tuple[str, ...]:
    found = _list(where, given, "a list of texts")
    return tuple(_text(f"{where}[{at}]", item) for at, item in enumerate(found))


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where}: expected text, got {_is(value)}")
    if not value.strip():
        raise ConfigError(f"{where}: expected text that is not blank, got {value!r}")
    return value


def _is(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
