"""Names as they stand in texts: signs, particles, numbers, first words, other scripts."""
# ruff: noqa: RUF001

from __future__ import annotations

import oracle_name_rules

import vestig
from tables import each
from vestig.language.names import find_names
from vestig.testing import HashingEmbedder

NAMED = {
    "a sign inside": {
        "Today B&O called back": ["B&O"],
        "P&G sells soap": ["P&G"],
        "we ship with R&L now": ["R&L"],
        "Black & Decker makes drills": ["Black & Decker"],
        "The invoice of Sørensen & Fils SRL is late": ["Sørensen & Fils SRL"],
        "Lovelace & Babbage & Co. KG moved": ["Lovelace & Babbage & Co. KG"],
    },
    "an 's that is part of it": {
        "Later Fortnum & Mason's was full": ["Fortnum & Mason's"],
        "she likes Ben & Jerry’s.": ["Ben & Jerry’s"],
        "Black & Decker's drills broke": ["Black & Decker"],
        "Carluccio's was closed": ["Carluccio's"],
        "the one of Hermann's was red": ["Hermann"],
        "we met in St. Andrew's": ["St. Andrew's"],
        "They sang in St Paul's Cathedral at noon": ["St Paul's Cathedral"],
        "I know Ada's sister": ["Ada"],
    },
    "a particle before it": {
        "Yesterday de Gaulle spoke": ["de Gaulle"],
        "a letter by von Humboldt": ["von Humboldt"],
        "Van der Waals and van der Waals": ["Van der Waals", "van der Waals"],
        "we read de la Mare": ["de la Mare"],
        "Hildegard von Bingen met Guido d'Arezzo": ["Hildegard von Bingen", "Guido d'Arezzo"],
        "it was al-Biruni who measured it": ["al-Biruni"],
        "Otto (von Bismarck) resigned": ["Otto", "von Bismarck"],
    },
    "a particle that is an ordinary word": {
        "der Brief ist von Klara": ["Brief", "Klara"],
        "une lettre de Claire est sur la table": ["Claire"],
        "de brief is niet van Pieter": ["Pieter"],
    },
    "a number before it": {
        "Tomorrow 30 Seconds plays": ["30 Seconds"],
        "they played 10 Years": ["10 Years"],
        "my son likes 2-Tone": ["2-Tone"],
        "she listens to 2Pac, in 4K": ["2Pac"],
        "we saw 12 Monkeys": ["12 Monkeys"],
    },
    "a number that is not part of it": {
        "In 2019 Rosa moved": ["Rosa"],
        "on page 12 Goethe is quoted": ["Goethe"],
        "he owes 20 Euro": ["Euro"],
        "March 14 Einstein was born": ["Einstein"],
        "it cost 1.50 Dover sole": ["Dover"],
    },
    "words of time before it": {
        "Tonight Lagos plays": ["Lagos"],
        "Recently Umeå Energi wrote": ["Umeå Energi"],
        "Gestern Bosch GmbH und Morgen Anna": ["Bosch GmbH", "Anna"],
        "Сегодня Мосэнерго ответило": ["Мосэнерго"],
        "Earlier Monday Kyoto was cold": ["Kyoto"],
    },
    "the first word": {
        "Greta paints the door": ["Greta"],
        "Ольга живёт у моря": ["Ольга"],
        "Γιώργος came late": ["Γιώργος"],
        "Inês has a dog": ["Inês"],
        "Xiadani told us so": ["Xiadani"],
        "Deploys take an hour": [],
        "Marmalade is orange": [],
        "Nobody told us": [],
        "Mark the box": [],
        "Mark asked for it": ["Mark"],
    },
    "legal forms": {
        "They sued Initech, LLC and Hooli, Inc. at once": ["Initech", "Hooli"],
        "Hooli, Inc. was sued": ["Hooli"],
        "the Ltd was closed": [],
        "we asked Volvo NV today": ["Volvo NV"],
    },
    "scripts without capitals": {
        "李明在上海工作。": ["李明"],
        "昨天王小红告诉我": ["王小红"],
        "我昨天见欧阳娜娜。": ["欧阳娜娜"],
        "我同事陈晓明回答了": ["陈晓明"],
        "we asked 周杰伦 and 박지훈 to sing": ["周杰伦", "박지훈"],
        "高血压": [],
        "今天天气很好，高兴极了": [],
        "周末在公园见面": [],
        "昨日鈴木さんに会った": ["鈴木"],
        "サトウさんは元気": ["サトウ"],
        "患者さんが来た": [],
        "이수진 씨는 서울에 산다": ["이수진"],
        "박지훈님이 왔다": ["박지훈"],
        "이야기를 들었다": [],
        "ذهبت فاطمة إلى السوق": ["فاطمة"],
        "משה גר כאן": ["משה"],
        "प्रिया यहाँ रहती है": ["प्रिया"],
    },
}
CASES = [(text, names) for kind in NAMED.values() for text, names in kind.items()]


@each(("text", "names"), CASES)
def test_names_are_found_as_they_stand(text: str, names: list[str]) -> None:
    found = find_names(text)
    assert [name.name for name in found] == names
    assert found == oracle_name_rules.find_names(text)


def test_organisations_are_told_by_a_legal_form_behind_a_comma() -> None:
    found = find_names("They sued Initech, LLC today")
    assert [(name.name, name.type, name.confidence) for name in found] == [("Initech", "ORG", 0.9)]


def test_a_word_that_acts_is_no_name_where_the_store_writes_it_small() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        store.commit("The marketing of spring is done by now")
        store.commit("Marketing asked for a new poster in the hall")
        store.commit("Xiadani asked for a new poster in the hall")
        names = [one.entity.canonical_name for one in store.graph.entities(limit=9)]
    assert names == ["Xiadani"]


@each(
    ("first", "question", "name"),
    [
        ("Today Ben & Jerry's was closed.", "is Ben & Jerry’s ice cream vegan?", "Ben & Jerry's"),
        ("Today Carluccio's was closed.", "when does Carluccio's open?", "Carluccio's"),
        ("李明在上海工作。", "李明在哪里工作？", "李明"),
        ("이수진 씨는 서울에 산다", "이수진 씨는 어디에 사나요?", "이수진"),
        ("We met O’Hara in Leeds.", "where is O'Hara?", "O’Hara"),
        ("Yesterday van Gogh painted it.", "who is van Gogh?", "van Gogh"),
    ],
)
def test_a_question_means_the_entity_that_its_name_made(
    first: str, question: str, name: str
) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        store.commit(first)
        for published in (False, True):
            if published:
                store.admin.rebuild()
            analysis = store.recall(question).analysis
            assert [one.name for one in analysis.entities] == [name]
        assert store.count(where={"entities": [name]}) == 1
