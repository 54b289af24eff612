"""Names that the store knows, joined with those of the rules."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig.language.names import (
    KnownEntity,
    Mention,
    NameTable,
    aliases_of,
    analyse,
    best_mentions,
    cased_name,
    norm_name,
    resolve_names,
)

ADA = ("ent_ada", "PERSON", "Ada Lovelace", "Ada")
HARBOR = ("ent_harbor", "SYSTEM", "Grand Harbor")
MERCURY_TEAM = ("ent_team", "ORG", "Mercury")
MERCURY = ("ent_mercury", "UNTYPED", "Mercury")
PLANET = ("ent_planet", "PLACE", "Mercury")

_Entity = tuple[str, ...]


def names_in(
    text: str,
    *entities: _Entity,
    title: str | None = None,
    common: Collection[str] = (),
    query: bool = False,
) -> list[Mention]:
    table = NameTable()
    known = {}
    for order, (id, type, name, *aliases) in enumerate(entities):
        table.add(id, name, *aliases)
        known[id] = KnownEntity(id=id, type=type, name=name, order=(order, id))
    analysed = analyse(text, title)
    return resolve_names(analysed, table.find(analysed), known, common=common, query=query)


def brief(mentioned: list[Mention]) -> list[tuple[str, str, float]]:
    return [(name.name, name.type, name.confidence) for name in mentioned]


def test_a_known_alias_in_its_stored_capitals() -> None:
    [found] = names_in("we asked Ada's brother", ADA)
    assert (found.name, found.type, found.confidence) == ("Ada Lovelace", "PERSON", 1.0)
    assert (found.entity, found.evidence) == ("ent_ada", "Ada")
    assert (found.start, found.end) == (9, 12)
    assert names_in("we asked ada about it", ADA) == []


def test_a_known_name_of_several_words_keeps_its_capitals_in_a_memory() -> None:
    assert [name.entity for name in names_in("we met Ada Lovelace there", ADA)] == ["ent_ada"]
    assert names_in("we met ada lovelace there", ADA) == []


def test_several_words_ignore_case_in_a_query() -> None:
    assert [n.entity for n in names_in("where was ada LOVELACE born?", ADA, query=True)] == [
        "ent_ada"
    ]


def test_one_word_of_a_query_in_any_case_unless_it_is_a_common_word() -> None:
    mark = ("ent_mark", "PERSON", "Mark")
    assert [n.entity for n in names_in("what did mark say?", mark, query=True)] == ["ent_mark"]
    assert names_in("what did mark say?", mark, query=True, common={"mark"}) == []
    # with its capital it is meant all the same
    assert [
        n.entity for n in names_in("what did Mark say?", mark, query=True, common={"mark"})
    ] == ["ent_mark"]


def test_a_name_ends_at_words_not_within_them() -> None:
    assert names_in("the Adage of Adam", ("ent_ada", "PERSON", "Ada"))[0].entity is None
    for text in ("both (Ada) and", "so Ada/Bob", "so Bob/Ada did", "well – Ada – did", "ask “Ada”"):
        assert "ent_ada" in [name.entity for name in names_in(text, ADA)], text


def test_words_on_both_sides_of_a_sentence_end_are_no_name() -> None:
    found = names_in("then came Ada. Lovelace came later", ADA)
    assert [name.evidence for name in found if name.entity] == ["Ada"]


def test_the_longer_span_wins_then_the_higher_confidence() -> None:
    institute = names_in("the Ada Lovelace Institute opened", ADA)
    assert brief(institute) == [("Ada Lovelace Institute", "ORG", 0.90)]
    assert brief(names_in("the Ada Lovelace of ours", ADA)) == [("Ada Lovelace", "PERSON", 1.0)]


@each(
    ("text", "common", "names"),
    [
        ("Deploy Grand Harbor today", {"deploy"}, ["Grand Harbor"]),
        ("Deploy Grand Harbor today", set(), ["Deploy Grand Harbor"]),
        ("Yes. Deploy Helios now", {"deploy"}, ["Helios"]),
        # neither a title's name, nor an acronym, nor what would leave a legal form alone
        ("Dr Helios is here", {"dr"}, ["Dr Helios"]),
        ("API Gateway is down", {"api"}, ["API Gateway"]),
        ("Grand Ltd is down", {"grand"}, ["Grand Ltd"]),
        # inside a sentence the capital is the writer's
        ("we use Deploy Helios", {"deploy"}, ["Deploy Helios"]),
    ],
)
def test_a_sentences_first_word_is_dropped_when_it_is_a_common_one(
    text: str, common: set[str], names: list[str]
) -> None:
    assert [name.name for name in names_in(text, common=common)] == names
    assert common <= {*analyse(text).openers, "api", "deploy"}


def test_a_known_name_that_only_begins_a_sentence_is_a_common_word() -> None:
    hope = ("ent_hope", "PERSON", "Hope")
    assert [name.entity for name in names_in("Hope is here", hope)] == ["ent_hope"]
    assert names_in("Hope you are well", hope, common={"hope"}) == []
    assert [n.entity for n in names_in("we met Hope", hope, common={"hope"})] == ["ent_hope"]
    # a query has few words, and none to waste
    [name] = names_in("Hope was where?", hope, common={"hope"}, query=True)
    assert name.entity == "ent_hope"


@each(
    ("text", "names"),
    [
        ('the number comes "after" the unit', []),
        ('we saw "That" and "It"', []),
        ('from "Helios" or "Selene" it came', ["Helios", "Selene"]),
        ('this is "eventual consistency" at work', ["eventual consistency"]),
        ('a table called "user_events" or "v2"', ["user_events", "v2"]),
        ("John said, Let's go", ["John"]),
        ("we deploy on Fridays and on Monday, in March", []),
    ],
)
def test_generic_words_are_no_names(text: str, names: list[str]) -> None:
    found = [name.name for name in names_in(f"so {text}")]
    assert found == names


def test_a_title_is_a_name() -> None:
    [found] = names_in("the boats are in", title="Harbor plan (draft)")
    assert (found.name, found.type, found.confidence) == ("Harbor plan", "UNTYPED", 0.95)
    assert (found.start, found.end, found.evidence) == (-1, -1, "Harbor plan")
    [known] = names_in("the boats are in", HARBOR, title="Grand Harbor")
    assert (known.entity, known.confidence) == ("ent_harbor", 1.0)


def test_a_title_is_known_as_a_whole_only() -> None:
    [found] = names_in("the boats are in", HARBOR, title="Plan for the Grand Harbor")
    assert (found.name, found.entity) == ("Plan for the Grand Harbor", None)


def test_an_untyped_name_takes_the_type_of_the_only_typed_entity() -> None:
    found = names_in("we saw GRAND HARBOR there", HARBOR)
    assert brief(found) == [("Grand Harbor", "SYSTEM", 0.80)]
    assert found[0].entity == "ent_harbor"


def test_of_several_entities_with_one_name_one_is_meant() -> None:
    text = "we saw Mercury there"
    assert names_in(text, MERCURY, MERCURY_TEAM)[0].entity == "ent_team"
    assert names_in(text, MERCURY, MERCURY_TEAM, PLANET)[0].entity == "ent_mercury"
    assert names_in(text, MERCURY_TEAM, PLANET)[0].entity == "ent_team"
    assert names_in(text, PLANET, MERCURY_TEAM)[0].entity == "ent_planet"


def test_the_type_that_the_rules_see_chooses_among_them() -> None:
    acme = (("ent_a", "SYSTEM", "Acme Corp"), ("ent_b", "ORG", "Acme Corp"))
    assert names_in("made by Acme Corp today", *acme)[0].entity == "ent_b"


def test_the_best_names_by_confidence_then_position() -> None:
    text = "met Bob, Ada Lovelace and Carol (Carol again) with src/main.rs"
    assert [name.name for name in best_mentions(names_in(text, ADA), 3)] == [
        "Bob",
        "Ada Lovelace",
        "src/main.rs",
    ]
    assert [name.name for name in best_mentions(names_in(text, ADA), 2)] == [
        "Ada Lovelace",
        "src/main.rs",
    ]
    assert len(best_mentions(names_in(text, ADA), 10)) == 4


@each(
    ("name", "type", "aliases"),
    [
        ("Dr. Ada Lovelace", "PERSON", ("Ada Lovelace",)),
        ("Prof Dr Noether", "PERSON", ("Noether",)),
        ("Acme Ltd.", "ORG", ("Acme",)),
        ("Acme, Inc", "ORG", ("Acme",)),
        ("Ltd", "ORG", ()),
        ("Ada Lovelace", "PERSON", ()),
        ("Dr. Who", "SYSTEM", ()),
    ],
)
def test_titles_and_legal_forms_are_kept_and_stripped_in_an_alias(
    name: str, type: str, aliases: tuple[str, ...]
) -> None:
    assert aliases_of(name, type) == aliases


def test_words_are_looked_up_in_all_four_forms() -> None:
    assert analyse("C++, .NET. (Ada's)").words == [
        ("c++,", "c++,", "c++", "c++"),
        (".net.", ".net.", ".net", ".net"),
        ("(ada's)", "ada's)", "(ada", "ada"),
    ]


_NAMES = st.text(alphabet="aB .,+#'\"(-)/é’", min_size=1, max_size=12)


@given(_NAMES)
def test_a_trimmed_name_is_trimmed_for_good(name: str) -> None:
    if not name.strip():
        return
    once = cased_name(name)
    assert once == " ".join(once.split())
    assert cased_name(once) == once
    assert norm_name(once) == norm_name(name)


@given(st.text(alphabet="aAbB. ,'s-/“–(", max_size=40), st.lists(_NAMES, max_size=3))
def test_spans_lie_in_the_text_and_do_not_overlap(text: str, names: list[str]) -> None:
    entities = [(f"ent_{at}", "PERSON", name) for at, name in enumerate(names) if name.strip()]
    for query in (False, True):
        end = 0
        for found in names_in(text, *entities, query=query):
            assert end <= found.start < found.end <= len(text)
            assert text[found.start : found.end]
            end = found.end
