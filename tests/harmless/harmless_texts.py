"""Texts that nothing may change: each stands for a kind of what people and programs write."""
# ruff: noqa: RUF001

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final, NamedTuple

from identifiers import SERVICES, harmless, identifier


class Given(NamedTuple):
    """A text and the kind that it stands for."""

    kind: str
    text: str


_PEOPLE: Final = ("Maren", "Tobias", "Yusuf", "Ilse", "Priya")
_THINGS: Final = ("winch", "kiln", "boiler", "loom", "press")

# names of identifiers that end with, or stand beside, a word that also names secrets
_KEYED: Final = (
    "idempotency key: {uuid}",
    "The primary key of the row is {ulid}.",
    "partition key: TENANT#{d6}, sort key: ORDER#2026-01-0{one}#{d6}",
    "S3 key: uploads/2026/03/{uuid}/photo-{d6}.jpg",
    "The cache key is user:{d6}:profile:v2.",
    "public key fingerprint SHA256:{b43}",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{a43} maren@winch",
    "The Jira key is LOOM-{d4}, the epic LOOM-{d3}.",
    "translation key: settings.profile.title.v{one}",
    "foreign key fk_orders_customer_{d4} was dropped",
    "The token count of {call} was {d4}.",
    "token usage: prompt {d4}, completion {d3}, thread {thread}",
    "nextPageToken: {a32}",
    "The key account {acct} pays on the {one}th.",
    "license plate KEY-{d4} belongs to {who}",
    "The password reset ticket is INC{d7}, opened by {who}.",
    "Secret Santa draws number {d2}; {who} has {d3}.",
    "The session of {who} was closed: sess-{d6} on host-{d2}.",
    "Keyboard layout de-latin1-nodeadkeys, key signature E flat minor, key change in bar {d2}.",
    "API keys are rotated every {d2} days; {who} keeps the list.",
    "The access code review is PR #{d4}.",
    "Die Schlüsselnummer des Kessels ist HSN 0{d3}, TSN ABC.",
    "Le mot de passe doit avoir {d2} caractères, dit {who}.",
    "PIN {one} of the connector is ground, pin 1{one} is the clock.",
    "credential provider: aws-sso, profile: loom-{one}",
    "The bearer of this voucher, number {d8}, gets a free {thing}.",
    "The certificate serial is {serial}.",
    "The passport office moved to {d2} Harbour Street.",
    "passphrase length: at least {one} words",
    "auth provider google-oauth2, connection con_{a16}",
    "client id: {d12}-{l32}.apps.googleusercontent.com",
    "The signature of the function is press(kiln: int, at: float = {d2}.5) -> None.",
)
_NUMBERS: Final = (
    "Call {who} at +49 30 {d7}, never before 9.",
    "+1 (555) 010-{d4} is the line of the {thing} room",
    "Order 302-{d7}-{d7} arrives on Tuesday.",
    "Tracking 1Z{A16} left Bremen.",
    "VIN WVWZZZ1JZ{A8}, plate HB-{d4}",
    "IBAN {iban} is the account of {who}.",
    "arn:aws:iam::{d12}:role/loom-{one}",
    "arn:aws:lambda:eu-central-1:{d12}:function:press-{d3}",
    "doi:10.{d4}/loom.2026.{d6}",
    "ISBN 978-3-16-{d6}-0 is on the shelf of {who}.",
    "commit {h40} fixed the {thing}",
    "commit {h7} broke it again, {who} says",
    "image sha256:{h64} runs on host-{one}",
    "trace {h32}, span {h16}, parent {h16}",
    "wallet 0x{h40} got 2 ether",
    "MD5 of the {thing} firmware: {h32}",
    'ETag: "{h32}-{one}"',
    "MAC 02:{h2}:{h2}:{h2}:{h2}:{h2}, address 10.{d2}.{d2}.{one}",
    "2001:db8:{h4}:{h4}::{h4} answers to ping",
    "build 2026.{d2}.{d6}+{h7}",
    "patient {d8}, born 1971-0{one}-1{one}",
    "GPS 53.{d5}, 8.{d5}",
    "EAN {d13} costs {d2}.{d2} EUR",
    "{uuid}",
    "See {who}: {uuid}, {ulid}, {h24}.",
)
_NOTES: Final = (
    "The {thing} runs at {d2} degrees.",
    "{who} takes {one} tablets at noon.",
    "The {thing} of {who} was bought on {date}.",
    "{who} likes the {thing}, but not the noise.",
    "Ask {who} before the {thing} is moved to room {d3}.",
    "Version 2.{one}.{d2} of the {thing} software is out.",
    "The meeting on {date} begins at {one}:30.",
    '{who} said: "never switch the {thing} off".',
    "Pay {d3} EUR for the {thing} until {date}.",
    "If the {thing} smokes, then pull lever {one}; else wait {d2} s.",
)
_SNIPPETS: Final = (
    'def press_{n}(kiln: int) -> int:\n    """The `kiln`."""\n    return kiln << {n}\n',
    "for i in range({n}):\n\tif i % 2:\n\t\tprint(i)\n",
    '{{"id": {n}, "tags": ["a", "b"], "nested": {{"at": null, "x": 1.50}}}}',
    '[\n  {{"n": {n}}},\n  {{"n": 1e-7}}\n]',
    "loom:\n  - name: kiln {n}\n    at: 2026-01-02\n  - {{x: 1}}\n",
    "---\ntitle: Kiln {n}\n---\n\nText below what looks like front matter.",
    'a,b,c\n{n},"x, y","""q"""\n',
    "a;b\n{n};2,5\n",
    "| kiln | at |\n|:-----|---:|\n| k{n} | 9 |",
    "# Kiln {n}\n\n* one\n* two\n    1. deep\n\n> quoted\n\n```sh\nmake kiln\n```",
    "SELECT * FROM kiln WHERE id = {n} AND name LIKE '%x%';  -- all",
    '<div class="k{n}"><p>kiln &amp; loom</p><br/></div>',
    '<kiln at="{n}"/>',
    '[kiln]\nat = {n}\nname = "loom"  # of Ilse',
    "$ make kiln\ncc -O2 kiln.c -o kiln{n}\nok",
    "diff --git a/kiln b/kiln\n--- a/kiln\n+++ b/kiln\n@@ -1 +1 @@\n-old {n}\n+new {n}",
    "\\begin{{equation}} x_{n} = \\frac{{a}}{{b}} \\end{{equation}}",
    "C:\\looms\\kiln{n}\\a b.txt and /srv/looms/kiln-{n}/a.txt and ../x{n}",
    "const kiln{n} = `${{loom}} at ${{n}}`;",
    "Traceback (most recent call last):\n  File \"kiln.py\", line {n}, in <module>\nKeyError: 'k'",
    "2026-03-01T10:00:00Z WARN kiln[{n}]: took=31ms ok=true",
    "From: Ilse\nTo: Yusuf\nSubject: kiln {n}\n\nHello,\n> old line\n-- \nIlse",
    "[ ] kiln {n}\n[x] loom\n- [ ] press",
    "Ilse: how hot is kiln {n}?\nYusuf: hot\n\nIlse: thanks",
    "Content: the kiln {n} is hot",
    "ID: kiln {n}\nScore: 0.5\nDate: today",
    "## Session of Monday · kiln {n}\n\nFlags: red, green\nReason: it was late.",
    "Quoted data, not instructions: kiln {n}",
    "[{n:08x}] the kiln begins with brackets",
    "[mem_{n:08x}] Ilse: the loom",
    "(score=0.9, kiln {n})",
    "---\nkiln {n}\n---",
)
_TAGGED: Final = (
    "What does <system-reminder> mean in log {n}?",
    "The page has <bash-stdout>{n}</bash-stdout> in its middle, why?",
    "<kiln-report>\nhot {n}\n</kiln-report>",
    "<p>Kiln {n}</p>\n<p>Loom</p>",
    "Please escape <command-name>{n}</command-name> as &lt;command-name&gt;.",
    "I typed [Request interrupted by user] into form {n} and it broke.",
    "Here is what I saw:\n<system-reminder>\nlog {n}\n</system-reminder>",
    "```xml\n<ide_selection>{n}</ide_selection>\n```",
    "<environment_context> is the tag of kiln {n}, I think",
    "# AGENTS.md\n\nThe kiln {n} needs instructions",
    "# AGENTS.md instructions for kiln {n} are too long, please shorten them",
    "Caveat: the messages of kiln {n} were made by Ilse.",
    "/loom {n} is a path, no command",
    "<user_query>{n}</user_query> <-- who writes this?",
)
_WORDS_OF_SCRIPTS: Final = (
    "печь номер {n} горячая",
    "الفرن رقم {n} ساخن جدا",
    "תנור מספר {n} חם מאוד",
    "窯{n}号は熱いです",
    "가마 {n}번은 뜨겁다",
    "第{n}号窑很热，不要碰",
    "เตา {n} ร้อนมาก",
    "भट्ठी {n} बहुत गर्म है",
    "ο φούρνος {n} καίει",
    "Kiln {n} 🔥 is hot 👩🏽\u200d🏭, don't touch 🇳🇴",
    "ﬁre in kiln {n}: 100 ℃ – ½ full… “quoted”",
    "שלום kiln {n} \u200fabc\u200e 12",
    "کتاب\u200cخانه شماره {n} باز است",
    "क्\u200dष kiln {n}",
    "Cafe\u0301 {n} on Zu\u0308rich street",
    "ｋｉｌｎ {n} ＡＢＣ",
    "a\u00a0b\u2003c {n}\u2028next",
    "𝔎𝔦𝔩𝔫 {n} 𝟘𝟙",
    "co\u00adoperate at kiln {n}",
)
_SHORT: Final = (
    "no nuts {n}", "I'm {n}.", "room {n}", "not {n}", "C{n} is \"hot\"", "sin gluten {n}",
    "B- in {n}", "-v {n}", "x={n} y", "5% of {n}", "#{n} first",
)  # fmt: skip


def _filled(template: str, chance: random.Random, number: int) -> str:
    """A template with identifiers and words in its places."""
    special = {
        "who": _PEOPLE[number % len(_PEOPLE)],
        "thing": _THINGS[number % len(_THINGS)],
        "one": str(chance.randint(1, 9)),
        "date": f"{chance.randint(1, 28)} March 20{chance.randint(10, 40)}",
        "uuid": identifier("{h8}-{h4}-4{h3}-a{h3}-{h12}", chance),
        "ulid": identifier("01{U24}", chance),
        "call": identifier("call_{a24}", chance),
        "thread": identifier("thread_{a24}", chance),
        "acct": identifier("acct_1{a14}", chance),
        "serial": ":".join(f"{chance.randrange(256):02X}" for _ in range(16)),
        "iban": _iban(chance),
    }
    for name, value in special.items():
        template = template.replace(f"{{{name}}}", value)
    return identifier(template, chance)


def _iban(chance: random.Random) -> str:
    account = "".join(chance.choices("0123456789", k=18))
    # D is 13, E is 14
    return f"DE{98 - int(account + '131400') % 97:02d}{account}"


def identified(seed: int) -> Iterator[Given]:
    """Yields texts with what services, banks and machines hand out."""
    chance = random.Random(seed)
    for one in harmless(seed):
        yield Given(f"identifier of {one.service}", one.text)
    for number, template in enumerate((*_KEYED, *_NUMBERS) * 2):
        yield Given(template, _filled(template, chance, number))


def notes(seed: int) -> Iterator[Given]:
    """Yields pairs of notes that differ in one number, date, name, negation or sign."""
    chance = random.Random(seed)
    for number, template in enumerate(_NOTES * 3):
        one = _filled(template, chance, number)
        for changed in _variants(one, chance):
            yield Given(f"variant of {template}", changed)


def _variants(text: str, chance: random.Random) -> list[str]:
    digits = [at for at, char in enumerate(text) if char.isdigit()]
    found = [text, f"{text[:-1]}?", f"It is not true: {text}", text.upper()]
    if digits:
        at = chance.choice(digits)
        other = str((int(text[at]) + 1) % 10)
        found.append(text[:at] + other + text[at + 1 :])
    found += [text.replace(one, "Quirin") for one in _PEOPLE if one in text]
    if " is " in text or " runs " in text:
        found.append(text.replace(" is ", " is not ").replace(" runs ", " never runs "))
    return found


def written() -> Iterator[Given]:
    """Yields code, tables, layouts, tags and other scripts."""
    kinds = (_SNIPPETS, _TAGGED, _WORDS_OF_SCRIPTS)
    for template, number in product([one for kind in kinds for one in kind], range(3)):
        shown = template.format(n=number + 3)
        yield Given(template, unicodedata.normalize("NFC", shown) if number == 1 else shown)


def short() -> Iterator[Given]:
    """Yields texts of a few characters that say something."""
    for template, number in product(_SHORT, range(3)):
        yield Given(template, template.format(n=number + 3))


def all_of(seed: int) -> list[Given]:
    """Return one of each text: no two are the same statement."""
    found: dict[str, Given] = {}
    for one in _all(seed):
        # a text in another Unicode form is the same text
        found.setdefault(" ".join(unicodedata.normalize("NFC", one.text).split()), one)
    return list(found.values())


def _all(seed: int) -> Iterable[Given]:
    yield from identified(seed)
    yield from notes(seed)
    yield from written()
    yield from short()


__all__ = ["SERVICES", "Given", "all_of", "identified", "notes", "short", "written"]
