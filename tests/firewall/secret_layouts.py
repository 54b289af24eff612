"""Secrets in real formats, made at run time, in the layouts in which people and programs write."""

from __future__ import annotations

import random
import string
import textwrap
from base64 import b64encode
from collections.abc import Callable
from typing import Final, NamedTuple

_ALNUM: Final = string.ascii_letters + string.digits
_ALPHABETS: Final = {
    "a": _ALNUM,
    "A": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "h": "0123456789abcdef",
    "u": _ALNUM + "-_",
    "d": string.digits,
}

# what it is, prefix, alphabet, characters of the rest: formats that vendors document
FORMATS: Final = (
    ("GitHub token", "ghp_", "a", 36),
    ("GitHub fine-grained token", "github_pat_", "a", 82),
    ("GitLab token", "glpat-", "a", 20),
    ("AWS access key", "AKIA", "A", 16),
    ("Slack bot token", "xoxb-", "d", 32),
    ("Anthropic key", "sk-ant-api03-", "u", 93),
    ("OpenAI project key", "sk-proj-", "u", 74),
    ("Google API key", "AIza", "a", 35),
    ("Stripe secret key", "sk_live_", "a", 24),
    ("npm token", "npm_", "a", 36),
    ("Hugging Face token", "hf_", "a", 34),
    ("DigitalOcean token", "dop_v1_", "h", 64),
    ("PyPI token", "pypi-AgEIcHlwaS5vcmc", "a", 100),
    ("Vault token", "hvs.", "a", 90),
    ("Shopify token", "shpat_", "h", 32),
    ("Docker token", "dckr_pat_", "a", 27),
    ("Linear key", "lin_api_", "a", 40),
    ("Figma token", "figd_", "a", 40),
    ("Stripe webhook secret", "whsec_", "a", 32),
    ("Groq key", "gsk_", "a", 52),
    ("Grafana token", "glsa_", "a", 41),
    ("service key", "", "a", 32),
    ("hexadecimal key", "", "h", 40),
)


class Written(NamedTuple):
    """A text, and what of it must not be kept: the secret, or the parts of it."""

    kind: str
    layout: str
    text: str
    parts: tuple[str, ...]


def _wrapped(width: int) -> Callable[[str], str]:
    def write(secret: str) -> str:
        said = f"For the staging server of the harbor the api token is {secret} until Friday."
        return "\n".join(textwrap.wrap(said, width, break_on_hyphens=False))

    return write


def _cut(width: int) -> Callable[[str], str]:
    """Each line but the last ends at one column, within words too."""

    def write(secret: str) -> str:
        said = f"The api token of the staging server is {secret} until Friday, says Omar."
        return "\n".join(said[at : at + width] for at in range(0, len(said), width))

    return write


def _quoted(secret: str) -> str:
    lines = textwrap.wrap(f"the token of the crane is {secret} for now", 24, break_on_hyphens=False)
    return "Omar wrote:\n" + "\n".join(f"> {line}" for line in lines)


def _literals(between: str) -> Callable[[str], str]:
    def write(secret: str) -> str:
        middle = len(secret) // 2
        return f'API_TOKEN = "{secret[:middle]}"{between}"{secret[middle:]}"\nretries = 3'

    return write


LAYOUTS: Final[dict[str, Callable[[str], str]]] = {
    "sentence": lambda s: f"The api token for the harbor is {s}, it hangs in the office.",
    "German": lambda s: f"Der API-Schlüssel für den Kran lautet {s}.",
    "French": lambda s: f"Le jeton du serveur est {s}, ne le partage pas.",
    "environment": lambda s: f"HARBOR_ENV=prod\nHARBOR_API_KEY={s}\nDEBUG=true",
    "export": lambda s: f'export HARBOR_TOKEN="{s}"\nmake deploy',
    "PowerShell": lambda s: f'$env:HARBOR_TOKEN = "{s}"',
    "YAML": lambda s: f"harbor:\n  user: ada\n  token: {s}\n  replicas: 2",
    "YAML list": lambda s: f"- name: HARBOR_TOKEN\n  value: {s}\n- name: MODE\n  value: slow",
    "TOML": lambda s: f'[auth]\napi_key = "{s}"  # of Omar',
    "INI": lambda s: f"[harbor]\nsecret={s}\nhost=crane-1",
    "properties": lambda s: f"harbor.client.secret={s}",
    "XML": lambda s: f"<server><apiKey>{s}</apiKey></server>",
    "JSON": lambda s: f'{{"user": "ada", "apiKey": "{s}", "retries": 3}}',
    "JSON in JSON": lambda s: f'{{"body": "{{\\"access_token\\": \\"{s}\\"}}"}}',
    "Python": lambda s: f'client = Harbor(host="crane-1", api_key="{s}", retries=3)',
    "JavaScript": lambda s: f"const authToken = '{s}';\nstart(authToken);",
    "Java": lambda s: f'private static final String SECRET_KEY = "{s}";',
    "header": lambda s: f"curl -H 'Authorization: Bearer {s}' https://harbor.net/v1",
    "own header": lambda s: f"X-Api-Key: {s}\nAccept: application/json",
    "address": lambda s: f"GET https://harbor.net/v1/items?page=2&access_token={s}&sort=asc",
    "user of an address": lambda s: f"git clone https://ada:{s}@git.harbor.net/app.git",
    "Dockerfile": lambda s: f"FROM alpine\nENV API_TOKEN {s}\nRUN make",
    "log line": lambda s: f'level=info msg="using key" key={s} took=3ms',
    "table": lambda s: f"| name | token |\n|---|---|\n| crane | {s} |\n| lamp | none |",
    "row of a table": lambda s: f"| host | crane-1 |\n| api key | {s} |",
    "CSV": lambda s: f"name,api_key,floor\ncrane,{s},2\nlamp,,3",
    "next speaker": lambda s: f"Ada: the token of the crane is\nBen: {s}\nAda: thanks",
    "answer": lambda s: f"[10:31] Ada: what is the API key?\n[10:32] Ben: {s}",
    "quoted mail": lambda s: f"On Monday Omar wrote:\n> api_key: {s}\n> mode: slow",
    "wrapped at 20": _wrapped(20),
    "wrapped at 40": _wrapped(40),
    "cut at 20": _cut(20),
    "cut at 33": _cut(33),
    "wrapped quotation": _quoted,
    "adjacent literals": _literals(" \\\n    "),
    "added literals": _literals("\n    + "),
    "added in a line": _literals(" + "),
    "literals in parentheses": _literals("\n    "),
    "Kubernetes": lambda s: (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: harbor\ndata:\n"
        f"  crane: {b64encode(s.encode()).decode()}\n"
    ),
    "Kubernetes text": lambda s: (
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: harbor\nstringData:\n  crane: {s}\n"
    ),
}
_PART_CHARS: Final = 6


def written(seed: int) -> list[Written]:
    """Return a text of each layout for each format."""
    chance = random.Random(seed)
    found = []
    for kind, prefix, alphabet, length in FORMATS:
        for layout, write in LAYOUTS.items():
            while True:
                body = "".join(chance.choices(_ALPHABETS[alphabet], k=length - 1)) + "7"
                if alphabet == "d" or any(map(str.isalpha, body)):
                    break
            secret = prefix + body
            shown = b64encode(secret.encode()).decode() if layout == "Kubernetes" else secret
            text = write(secret)
            if secret in text or shown in text:
                parts: tuple[str, ...] = (shown,)
            else:
                parts = tuple(
                    secret[at : at + _PART_CHARS] for at in range(len(prefix), len(secret) - 5, 6)
                )
            found.append(Written(kind, layout, text, parts))
    return found
