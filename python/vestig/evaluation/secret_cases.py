"""Texts with secrets and texts with what only looks like one, made from a seed.

The secrets are stored nowhere: each run makes its own, in the formats and places of
`data/secret_cases.txt`, and in formats that nobody has.
"""

from __future__ import annotations

import random
import re
import string
import uuid
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from vestig.lazy_pattern import lazy_pattern

_ALPHABETS: Final = {
    "alnum": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "digits": string.digits,
    "capitals": string.ascii_uppercase + string.digits,
    "small": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "url": string.ascii_letters + string.digits + "-_",
    "base64": string.ascii_letters + string.digits + "+/",
}
_SIGNS: Final = "!@#%*+?"
_WORDS: Final = ("amber", "harbor", "violet", "copper", "meadow", "falcon", "winter", "tulip")
_MADE: Final = lazy_pattern(r"\{(uuid|w|(base64|[a-z]+)_?(\d+))\}")
_NOT: Final = "not: "


class Case(NamedTuple):
    """`secret`: what has to be found in the text; None = it holds none."""

    kind: str
    text: str
    secret: str | None


@cache
def _lists() -> Mapping[str, list[str]]:
    """Section → lines of the data file."""
    found: dict[str, list[str]] = {}
    text = files("vestig").joinpath("data", "secret_cases.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]") and " = " not in line:
            lines = found.setdefault(line[1:-1], [])
        elif not line.startswith("#"):
            lines.append(line.replace("\\n", "\n"))
    return found


class Maker:
    """Makes secrets and look-alikes; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def secrets(self, count: int) -> list[Case]:
        """Return so many texts, each with one secret, of all kinds in turn."""
        kinds = list(_SECRETS.items())
        return [self._secret(*kinds[at % len(kinds)]) for at in range(count)]

    def look_alikes(self, count: int) -> list[Case]:
        """Return so many texts without a secret, of all kinds in turn."""
        kinds = [name for name in _lists() if name.startswith(_NOT)]
        found = []
        for at in range(count):
            kind = kinds[at % len(kinds)]
            text = _MADE.sub(self._value, self._random.choice(_lists()[kind]))
            found.append(Case(kind.removeprefix(_NOT), text, None))
        return found

    def _secret(self, kind: str, made: tuple[Callable[[Maker], str], str]) -> Case:
        secret, places = made[0](self), _lists()[made[1]]
        text = self._random.choice(places).replace("{w}", self._random.choice(_WORDS))
        return Case(kind, text.replace("{s}", secret), secret)

    def _value(self, name: re.Match[str]) -> str:
        if name[1] == "uuid":
            return str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        if name[1] == "w":
            return self._random.choice(_WORDS)
        return self.run(name[2], int(name[3]))

    def run(self, alphabet: str, least: int, most: int | None = None) -> str:
        """Return so many characters of an alphabet, a digit and a letter among them."""
        characters = _ALPHABETS.get(alphabet, alphabet)
        length = self._random.randint(least, most or least)
        mixed = any(map(str.isdigit, characters)) and any(map(str.isalpha, characters))
        while True:
            found = "".join(self._random.choices(characters, k=length))
            if not mixed or (any(map(str.isdigit, found)) and any(map(str.isalpha, found))):
                return found

    def known_format(self) -> str:
        """Return a secret in a format that a vendor documents."""
        prefix, alphabet, length = self._random.choice(_lists()["formats"]).split(" ")
        return prefix + self.run(alphabet, int(length))

    def unknown_format(self) -> str:
        """Return a secret in a format that nobody has."""
        prefix = self.run(string.ascii_lowercase, 2, 6)
        joint = self._random.choice(("_", "-", "_live_", "_test_", "_pat_", "-v1-", ".", ""))
        body = self.run(self._random.choice(("alnum", "alnum", "url", "small")), 24, 48)
        return prefix + joint + body.strip("-_") + self.run("letters", 1)

    def password(self) -> str:
        """Return what somebody types: a word and more, or no word at all."""
        if self._random.random() < 0.5:
            word = self._random.choice(_WORDS).capitalize()
            return word + self.run("digits", 2, 4) + self.run(_SIGNS, 1)
        return self.run("alnum", 7, 12) + self.run(_SIGNS, 1) + self.run("alnum", 2)

    def web_token(self) -> str:
        """Return a JSON web token."""
        return f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{self.run('url', 40)}.{self.run('alnum', 43)}"

    def private_key(self) -> str:
        """Return a private key of several lines."""
        lines = "\n".join(self.run("base64", 64) for _ in range(6))
        kind = self._random.choice(("RSA ", "EC ", "OPENSSH ", ""))
        return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"


# kind → what makes the secret, the section of the texts around it
_SECRETS: Final[dict[str, tuple[Callable[[Maker], str], str]]] = {
    "known format": (Maker.known_format, "token"),
    "unknown format": (Maker.unknown_format, "token"),
    "password": (Maker.password, "password"),
    "web token": (Maker.web_token, "token"),
    "hexadecimal key": (lambda maker: maker.run("hex", 32, 64), "hexadecimal key"),
    "in an address": (lambda maker: maker.run("alnum", 8, 20), "address"),
    "in a header": (lambda maker: maker.run("alnum", 24, 40), "header"),
    "private key": (Maker.private_key, "private key"),
    "another unknown format": (Maker.unknown_format, "token"),
}
