"""Identifiers that services hand out, made at run time, in texts that programs and people write.

None of them is a secret: each stands in addresses, invoices, log lines and answers of an API.
"""

from __future__ import annotations

import random
import string
from typing import Final, NamedTuple

_ALNUM: Final = string.ascii_letters + string.digits
_ALPHABETS: Final = {
    "a": _ALNUM,
    "l": string.ascii_lowercase + string.digits,
    "A": string.ascii_uppercase + string.digits,
    "u": _ALNUM + "-_",
    "d": string.digits,
    "h": "0123456789abcdef",
    "b": _ALNUM + "+/",
    "U": "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    "s": string.ascii_lowercase,
    "5": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}

# service, what the identifier names, its form: text, or `{alphabet length}`
SERVICES: Final = (
    ("Stripe", "product", "prod_{a14}"),
    ("Stripe", "price", "price_1{a23}"),
    ("Stripe", "payment intent", "pi_3{a23}"),
    ("Stripe", "subscription", "sub_1{a23}"),
    ("Paddle", "customer", "ctm_01{l24}"),
    ("Square", "location", "L{A12}"),
    ("PayPal", "subscription", "I-{A12}"),
    ("Adyen", "payment", "{A16}"),
    ("Mollie", "payment", "tr_{a10}"),
    ("GoCardless", "mandate", "MD000{A9}"),
    ("Razorpay", "order", "order_{a14}"),
    ("Chargebee", "subscription", "{a17}"),
    ("OpenAI", "tool call", "call_{a24}"),
    ("OpenAI", "thread", "thread_{a24}"),
    ("OpenAI", "assistant", "asst_{a24}"),
    ("OpenAI", "response", "resp_{h48}"),
    ("OpenAI", "completion", "chatcmpl-{a29}"),
    ("Anthropic", "tool use", "toolu_01{a22}"),
    ("Anthropic", "message", "msg_01{a22}"),
    ("Gemini", "response", "{u22}"),
    ("Clerk", "user", "user_2{a26}"),
    ("Auth0", "application", "{a32}"),
    ("Okta", "user", "00u{a17}"),
    ("WorkOS", "organization", "org_01{U24}"),
    ("Firebase", "user", "{a28}"),
    ("Firestore", "document", "{a20}"),
    ("Supabase", "project", "{s20}"),
    ("AWS", "instance", "i-0{h16}"),
    ("AWS", "role", "AROA{A17}"),
    ("AWS", "hosted zone", "Z0{A19}"),
    ("Azure", "deployment", "{u22}"),
    ("Google Cloud", "operation", "projects/p1/operations/{a22}"),
    ("Google Drive", "file", "1{u32}"),
    ("Google Calendar", "event", "{l26}"),
    ("YouTube", "playlist", "PL{u32}"),
    ("Spotify", "track", "{a22}"),
    ("Vimeo", "video", "{d9}/{h10}"),
    ("GitHub", "pull request", "PR_kwDO{a12}"),
    ("GitHub", "issue", "I_kwDO{a14}"),
    ("GitLab", "commit", "{h40}"),
    ("Bitbucket", "build", "{{{h8}-{h4}-4{h3}-a{h3}-{h12}}}"),
    ("Vercel", "deployment", "dpl_{a28}"),
    ("Netlify", "deploy", "{h24}"),
    ("Render", "service", "srv-{l20}"),
    ("Fly.io", "machine", "{h14}"),
    ("Railway", "project", "{h8}-{h4}-4{h3}-b{h3}-{h12}"),
    ("Linear", "issue", "ENG-{d4}"),
    ("Notion", "page", "{h32}"),
    ("Airtable", "record", "rec{a14}"),
    ("Airtable", "base", "app{a14}"),
    ("Figma", "file", "{a22}"),
    ("Miro", "board", "uXjVO{a6}="),
    ("Slack", "channel", "C0{A9}"),
    ("Discord", "message", "{d19}"),
    ("Telegram", "file", "AgACAgIAAxk{u48}"),
    ("Twilio", "message", "SM{h32}"),
    ("Zoom", "meeting", "{b22}=="),
    ("Shopify", "product", "gid://shopify/Product/{d13}"),
    ("Contentful", "entry", "{a22}"),
    ("Sanity", "document", "{a22}"),
    ("HubSpot", "deal", "{d11}"),
    ("Salesforce", "account", "001{a15}"),
    ("Zendesk", "ticket", "{d7}"),
    ("Sentry", "event", "{h32}"),
    ("Datadog", "trace", "{d19}"),
    ("Mux", "asset", "{a44}"),
    ("Cloudinary", "asset", "{l20}"),
    ("Algolia", "application", "{A10}"),
    ("LangSmith", "run", "{h8}-{h4}-4{h3}-8{h3}-{h12}"),
    ("Weights & Biases", "run", "{l8}"),
    ("IPFS", "file", "Qm{544}"),
    ("Ethereum", "wallet", "0x{x40}"),
    ("Bitcoin", "wallet", "bc1q{l38}"),
    ("OpenSSH", "key fingerprint", "SHA256:{b43}"),
    ("Docker", "image", "sha256:{h64}"),
    ("Kubernetes", "pod", "web-{l10}-{l5}"),
    ("nanoid", "note", "{u21}"),
    ("cuid", "row", "c{l24}"),
    ("ksuid", "row", "{a27}"),
    ("ULID", "row", "01{U24}"),
)
TEXTS: Final = (
    "{service} {noun} {id} was created on Monday.",
    "The {noun} at {service} is {id}, please link it.",
    '{{"id": "{id}", "object": "{noun}", "status": "active"}}',
    "2026-03-01T10:00:00Z INFO {service}: {noun} {id} done in 31 ms",
    "https://app.{host}.io/{path}/{id}",
    "{name}_id: {id}\nstatus: open",
    'get_{name}("{id}", retries=3)',
    "| {noun} | state |\n|---|---|\n| {id} | paid |",
    "Ada: which {noun} was it?\nBen: {id}",
    "Ich habe bei {service} {id} angelegt ({noun}).",
    "export {upper}_ID={id}",
    "- {noun}: `{id}` (see {service})",
)


class Harmless(NamedTuple):
    """A text, and the identifier in it."""

    service: str
    id: str
    text: str


def identifier(form: str, chance: random.Random) -> str:
    """Return an identifier of a form."""
    found, at = [], 0
    while at < len(form):
        if form[at : at + 2] in ("{{", "}}"):
            found.append(form[at])
            at += 2
        elif form[at] == "{":
            end = form.index("}", at)
            kind, length = form[at + 1], int(form[at + 2 : end])
            alphabet = "0123456789abcdefABCDEF" if kind == "x" else _ALPHABETS[kind]
            made = "".join(chance.choices(alphabet, k=length))
            found.append("A" + made[1:-1] + "z" if kind == "u" else made)
            at = end + 1
        else:
            found.append(form[at])
            at += 1
    return "".join(found)


def harmless(seed: int) -> list[Harmless]:
    """Return one text of each kind for each identifier."""
    chance = random.Random(seed)
    found = []
    for service, noun, form in SERVICES:
        for text in TEXTS:
            id = identifier(form, chance)
            name = noun.replace(" ", "_")
            said = text.format(
                service=service, noun=noun, id=id, name=name, upper=name.upper(),
                host=service.lower().replace(" ", "").replace("&", ""), path=f"{name}s",
            )  # fmt: skip
            found.append(Harmless(service, id, said))
    return found
