"""Texts with secrets and texts with what only looks like one, made from a seed.

Nothing of them is stored anywhere: each run makes its own, so that no key of anybody is shipped.
"""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Callable
from typing import Final, NamedTuple

_DIGITS: Final = string.digits
_ALNUM: Final = string.ascii_letters + _DIGITS
_SMALL: Final = string.ascii_lowercase + _DIGITS
_HEX: Final = "0123456789abcdef"
_URL: Final = _ALNUM + "-_"
_BASE64: Final = _ALNUM + "+/"
_SIGNS: Final = "!@#%*+?"
_WORDS: Final = (
    "amber", "harbor", "violet", "copper", "meadow", "falcon", "winter", "ginger", "marble",
    "tulip", "canyon", "pepper",
)  # fmt: skip


class Case(NamedTuple):
    """`secret`: what has to be found in the text; None = it holds none."""

    kind: str
    text: str
    secret: str | None


class Maker:
    """Makes secrets and look-alikes from one seed; the same seed gives the same texts."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def secrets(self, count: int) -> list[Case]:
        """So many texts, each with one secret, of all kinds in turn."""
        kinds = [*_SECRETS.items()]
        return [self._secret(*kinds[at % len(kinds)]) for at in range(count)]

    def look_alikes(self, count: int) -> list[Case]:
        """So many texts without a secret, of all kinds in turn."""
        kinds = [*_LOOK_ALIKES.items()]
        cases = []
        for at in range(count):
            kind, make = kinds[at % len(kinds)]
            cases.append(Case(kind, make(self), None))
        return cases

    def _secret(self, kind: str, made: _Made) -> Case:
        secret = made.secret(self)
        text = self.one(made.places).replace("{s}", secret).replace("{w}", self.one(_WORDS))
        return Case(kind, text, secret)

    def one(self, among: tuple[str, ...]) -> str:
        """One of these."""
        return self._random.choice(among)

    def run(self, alphabet: str, least: int, most: int | None = None) -> str:
        """So many characters of an alphabet."""
        length = self._random.randint(least, most or least)
        return "".join(self._random.choices(alphabet, k=length))

    def mixed(self, alphabet: str, least: int, most: int | None = None) -> str:
        """As `run`, with a digit and a letter."""
        while True:
            found = self.run(alphabet, least, most)
            if any(c.isdigit() for c in found) and any(c.isalpha() for c in found):
                return found

    def password(self) -> str:
        """What somebody types: a word and more, or no word at all."""
        if self._random.random() < 0.5:
            word = self.one(_WORDS).capitalize()
            return word + self.run(_DIGITS, 2, 4) + self.run(_SIGNS, 1)
        return self.mixed(_ALNUM, 7, 12) + self.run(_SIGNS, 1) + self.run(_ALNUM, 1, 2)

    def uuid(self) -> str:
        """A random UUID."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


class _Made(NamedTuple):
    secret: Callable[[Maker], str]
    places: tuple[str, ...]


# prefix, alphabet, length of formats that vendors document
_FORMATS: Final = (
    ("ghp_", _ALNUM, 36), ("github_pat_", _ALNUM, 82), ("glpat-", _URL, 20), ("AKIA", string.ascii_uppercase + _DIGITS, 16),
    ("xoxb-", _DIGITS, 24), ("sk-ant-api03-", _URL, 93), ("sk-proj-", _URL, 74), ("AIza", _URL, 35), ("sk_live_", _ALNUM, 24),
    ("npm_", _ALNUM, 36), ("hf_", string.ascii_letters, 34), ("dop_v1_", _HEX, 64), ("pypi-AgEIcHlwaS5vcmc", _URL, 100),
    ("SG.", _URL, 66), ("hvs.", _ALNUM, 90), ("glsa_", _ALNUM, 41), ("shpat_", _HEX, 32), ("dckr_pat_", _URL, 27),
    ("lin_api_", _ALNUM, 40), ("figd_", _URL, 40), ("GOCSPX-", _URL, 28), ("whsec_", _ALNUM, 32), ("gsk_", _ALNUM, 52),
)  # fmt: skip


def _format(maker: Maker) -> str:
    prefix, alphabet, length = maker._random.choice(_FORMATS)
    return prefix + maker.run(alphabet, length)


def _unknown(maker: Maker) -> str:
    prefix = maker.run(string.ascii_lowercase, 2, 6)
    joint = maker.one(("_", "-", "_live_", "_test_", "_pat_", "-v1-", ".", "_sk_", ""))
    alphabet = maker.one((_ALNUM, _ALNUM, _URL, _SMALL))
    return prefix + joint + maker.mixed(alphabet, 24, 48).strip("-_") + maker.run(_ALNUM, 1)


def _web_token(maker: Maker) -> str:
    return ".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIi" + maker.run(_URL, 40), maker.run(_URL, 43)))


def _private_key(maker: Maker) -> str:
    lines = "\n".join(maker.run(_BASE64, 64) for _ in range(6))
    kind = maker.one(("RSA ", "EC ", "OPENSSH ", ""))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"


_TOKEN_PLACES: Final = (
    "We use {s} for the {w} service.",
    "Nimm bitte {s} für den Zugriff auf {w}.",
    "Utilise {s} pour le serveur {w}, merci.",
    'client = Client(api_key="{s}")',
    "const token = '{s}';",
    "services:\n  {w}:\n    token: {s}\n    replicas: 2",
    "{w}_API_KEY={s}",
    'export {w}_TOKEN="{s}"',
    "GET https://api.{w}.io/v1/items?access_token={s}&page=2",
    "2026-03-01T10:00:00Z WARN {w}: login with {s} failed",
    '{"user": "{w}", "apiKey": "{s}"}',
    "curl -H 'Authorization: Bearer {s}' https://{w}.io/api",
    "The key for {w} is {s}.",
)
_PASSWORD_PLACES: Final = (
    "The password of the {w} router is {s}.",
    "password: {s}",
    "DB_PASSWORD={s}",
    "Das Passwort für {w} lautet {s}.",
    "Passwort: {s}",
    "Le mot de passe du serveur {w} est {s}.",
    '{"username": "{w}", "password": "{s}"}',
    "conn = connect(user='{w}', password='{s}')",
    "Server={w};Uid=sa;Pwd={s};Encrypt=true",
    "The Wi-Fi password at the office is now {s}",
    'mysql:\n  user: {w}\n  password: "{s}"',
    'My passphrase for {w} is "{s}"',
    "login {w} with password: {s}",
    "spring.datasource.password={s}",
)

_SECRETS: Final[dict[str, _Made]] = {
    "format": _Made(_format, _TOKEN_PLACES),
    "unknown format": _Made(_unknown, _TOKEN_PLACES),
    "password": _Made(Maker.password, _PASSWORD_PLACES),
    "web token": _Made(_web_token, _TOKEN_PLACES),
    "unknown format in text": _Made(_unknown, _TOKEN_PLACES[:3]),
    "hexadecimal key": _Made(
        lambda maker: maker.mixed(_HEX, 32, 64),
        (
            "api_key: {s}",
            "The API key for {w} is {s}.",
            "SECRET_KEY = '{s}'",
            "Der API-Schlüssel lautet {s}",
            "https://{w}.io/feed?api_key={s}",
            "X-Api-Key: {s}",
        ),  # fmt: skip
    ),
    "address": _Made(
        lambda maker: maker.mixed(_ALNUM, 8, 20),
        (
            "postgres://{w}:{s}@db.{w}.net:5432/app",
            "DATABASE_URL=mysql://root:{s}@10.0.0.3/{w}",
            "git clone https://{w}:{s}@git.{w}.io/team/app.git",
            "redis://:{s}@cache:6379/0",
            "Mirror amqp://{w}:{s}@queue:5672 is slow.",
        ),  # fmt: skip
    ),
    "header": _Made(
        lambda maker: maker.mixed(_ALNUM, 24, 40),
        (
            "Authorization: Basic {s}==",
            "curl -u {w}:{s} https://{w}.io",
            "authorization: Token {s}",
            '-H "Proxy-Authorization: Bearer {s}"',
            "X-Auth-Token: {s}",
        ),  # fmt: skip
    ),
    "private key": _Made(_private_key, ("{s}", "Here it is:\n{s}\nKeep it.", "key: |\n{s}\n")),
}


def _of(*texts: str) -> Callable[[Maker], str]:
    return lambda maker: maker.one(texts).replace("{w}", maker.one(_WORDS))


def _with(alphabet: str, least: int, most: int, *texts: str) -> Callable[[Maker], str]:
    def made(maker: Maker) -> str:
        value = maker.run(alphabet, least, most)
        return maker.one(texts).replace("{s}", value).replace("{w}", maker.one(_WORDS))

    return made


_LOOK_ALIKES: Final[dict[str, Callable[[Maker], str]]] = {
    "commit": _with(_HEX, 40, 40, "Fixed in commit {s}.", "git checkout {s}", "revert {s} on {w}", "Der Fehler ist seit {s[:0]}{s} behoben"),
    "digest": _with(_HEX, 64, 64, "sha256:{s}", "image: registry.{w}.io/app@sha256:{s}", "checksum {s} of {w}.tar.gz"),
    "UUID": lambda maker: maker.one(("request id {s} failed", "trace_id={s}", "user {s} logged in", "https://app.io/items/{s}")).replace("{s}", maker.uuid()),
    "base64": lambda maker: "data:image/png;base64," + maker.run(_BASE64, 120, 400) + "==",
    "encoded lines": lambda maker: "attachment:\n" + "\n".join(maker.run(_BASE64, 76) for _ in range(5)),
    "integrity": _with(_BASE64, 86, 86, '"integrity": "sha512-{s}=="', "integrity sha512-{s}=="),
    "certificate": lambda maker: "-----BEGIN CERTIFICATE-----\n" + "\n".join(maker.run(_BASE64, 64) for _ in range(5)) + "\n-----END CERTIFICATE-----",
    "public key": _with(_BASE64, 68, 68, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{s} ada@{w}"),
    "path": _of(
        "/usr/lib/python3.12/site-packages/{w}/secrets_v2.py", "see src/auth/token_service2.ts line 40",
        "C:\\Users\\{w}\\AppData\\Local\\Token3\\cache.db", "~/.config/{w}/credentials2.json", "key file: /etc/ssl/private/{w}-2026.pem",
    ),
    "prose": _of(
        "The password policy requires 12 characters and 2 digits.", "The token is invalid, so log in again.",
        "Please reset your password before Friday the 13th.", "The key to {w} is practice, 20 minutes a day.",
        "Das Passwort muss mindestens 12 Zeichen haben.", "Le mot de passe doit contenir 8 caractères.",
        "A secret ingredient of the {w} pie is cinnamon.", "Each token costs 0.002 cents, 4096 tokens at most.",
        "He forgot the password: it expired 30 days ago.", "API keys are rotated every 90 days.",
        "The pin on the map marks house 42.", "My password manager is great.", "Passwort vergessen? Klick hier.",
        "The secret to good bread is time: 24 hours.", "token limit: 128000", "max_tokens: 4096", "The pass was closed, so we took route B12.",
        "The password is stored hashed with bcrypt cost 12.", "key: value", "primary key: id",
    ),
    "placeholder": _of(
        "password: ${DB_PASSWORD}", "API_KEY=<your-key-here>", "token = os.environ[\"{w}_TOKEN\"]", "password = getpass.getpass()",
        "password: changeme", "api_key: YOUR_API_KEY", "secret: {{ vault.{w}_secret }}", "postgres://user:password@localhost/{w}",
        "Authorization: Bearer <token>", "token: $TOKEN", "AWS_KEY=AKIAIOSFODNN7EXAMPLE", "password=********", "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
        "const apiKey = process.env.{w}_API_KEY;", "client_secret = settings.CLIENT_SECRET", "password: str | None = None",
        "self.token = token", "token = request.headers.get('X-Token')", "curl -u $USER:$PASS https://{w}.io", "ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
    ),
    "name": _of(
        "AbstractSingletonProxyFactoryBean2", "{w}-deployment-7d9c5b8f6-x2x4k restarted", "useTokenRefreshEffect3 renders twice",
        "test_password_reset_sends_2_mails passes", "MAX_TOKEN_COUNT_V2 = 5", "PASSWORD_MIN_LENGTH = 12", "package com.{w}.security.token2.impl",
        "IBAN DE89370400440532013000", "call +49 30 1234567 about {w}", "meet at 2026-03-01T10:00:00Z in room B2.41",
    ),
    "identifier": _with(
        _ALNUM, 20, 22, "order {s} shipped", "job id {s} done", "tracking: {s}", "event_id={s}", "https://drive.{w}.com/file/d/{s}/view",
        "session {s} of {w} ended", "etag: \"{s}\"", "build {s} is green",
    ),
}  # fmt: skip
