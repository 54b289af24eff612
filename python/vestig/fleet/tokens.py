"""Tokens: each lets requests at one tenant. PostgreSQL has their hashes, nobody has them again."""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from vestig.arguments import label as label_argument
from vestig.arguments import parse_time, word_of
from vestig.errors import NotFoundError, StoreLockedError, ValidationError
from vestig.lazy_pattern import lazy_pattern
from vestig.results import TokenReport
from vestig.session.session import system_clock
from vestig.session.tenant import tenant_name
from vestig.store.replication import tokens as stored
from vestig.store.replication.postgres import Database
from vestig.store.replication.tokens import TokenRow
from vestig.times import format_us, from_us, to_us

# Each has those before it.
RIGHTS: Final = ("read", "write", "admin")
LABEL_CHARS_MAX: Final = 200
_TOKEN_BYTES: Final = 32
_TOKEN: Final = lazy_pattern(r"[A-Za-z0-9_-]{43}")
_ID_DIGITS: Final = 16
# Seconds for which a token that was looked up is good: so long after it was revoked, at most, no
# server takes it any more. From the half of it on, it is looked up again beside the requests.
LEASE_S: Final = 60.0
# Seconds for which a text is known to be no token: so long a new one may be refused.
UNKNOWN_S: Final = 5.0
_KNOWN_MAX: Final = 10_000
# While PostgreSQL does not answer, so long after one question comes the next, at most.
_AWAY_PAUSE_S: Final = 10.0


def add_token(
    database: Database,
    tenant: object,
    *,
    rights: object = "read",
    label: object = "",
    expires: object = None,
) -> TokenReport:
    """A new token of a tenant, for a user who owns the tables.

    Args:
        rights: `read`, `write` (and read) or `admin` (all).
        label: what it is for, at most 200 characters.
        expires: a time from which on it is refused; None: never.

    Returns:
        The token itself stands in `token`, and nowhere else.

    Raises:
        NotFoundError: there is no such tenant.
        ValidationError: other rights, or a time that has gone by.
        StoreLockedError: PostgreSQL does not answer, or this user may not make tokens.
    """
    name = tenant_name(tenant)
    word = word_of("rights", rights, RIGHTS)
    text = label_argument("label", label, LABEL_CHARS_MAX) or ""
    until_us = None if expires is None else parse_time(expires, "expires")
    if until_us is not None and until_us <= to_us(system_clock()):
        raise ValidationError("expires", format_us(until_us), "a time that is to come")
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    row = stored.add(database, name, hash_of(token), rights=word, label=text, expires_us=until_us)
    return _report(row, token)


def list_tokens(database: Database, tenant: object) -> list[TokenReport]:
    """The tokens of a tenant, the oldest first; those that have ended too.

    Raises:
        NotFoundError: there is no such tenant.
    """
    return [_report(row) for row in stored.of_tenant(database, tenant_name(tenant))]


def revoke_token(database: Database, tenant: object, id: object) -> TokenReport:
    """Removes a token, for a user who owns the tables. Servers refuse it within a minute.

    Args:
        id: as `list_tokens` gives it.

    Raises:
        NotFoundError: the tenant has no such token, or there is no such tenant.
    """
    name = tenant_name(tenant)
    for row in stored.of_tenant(database, name):
        found = _report(row)
        if found.id == id and stored.drop(database, name, row.hash):
            return found
    raise NotFoundError("Token", str(id), f"of tenant {name}; `vestig tenant token list` shows all")


def hash_of(token: str) -> bytes:
    """SHA-256 of a token: it has 256 random bits, so nobody finds it by trying."""
    return hashlib.sha256(token.encode()).digest()


def _report(row: TokenRow, token: str | None = None) -> TokenReport:
    return TokenReport(
        id=f"tok_{row.hash.hex()[:_ID_DIGITS]}",
        tenant=row.tenant,
        rights=row.rights,
        label=row.label,
        created=from_us(row.created_us),
        expires=None if row.expires_us is None else from_us(row.expires_us),
        token=token,
    )


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Which tenant a request may ask, and with which rights.

    Attributes:
        identity: of the tenant: another one that gets its name later is not meant.
        from_memory: PostgreSQL did not answer, so that it is what it was when it was asked last,
            and lets a request read alone.
    """

    tenant: str
    identity: bytes
    rights: str
    from_memory: bool = False

    def allows(self, needed: str) -> bool:
        """Return whether the rights have this one.

        Example:
            >>> writer = Grant(tenant="acme", identity=bytes(16), rights="write")
            >>> writer.allows("read"), writer.allows("admin")
            (True, False)
        """
        return RIGHTS.index(self.rights) >= RIGHTS.index(needed)


class LookedUp(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of PostgreSQL to a token.

    Attributes:
        grant: None, there is no such token.
        ages_at: a time of the monotonic clock, in seconds, from which on it is asked again.
        ends_at: until then it is good.
        forgotten_at: until then it is remembered, for reads while PostgreSQL does not answer.
    """

    grant: Grant | None
    ages_at: float
    ends_at: float
    forgotten_at: float


class TokenCache:
    """Tokens that were looked up lately, by hash; thread-safe.

    Args:
        find: the row of a hash; None: there is none.
        max_offline_s: while PostgreSQL does not answer, a token that it knew so long ago, at most,
            still reads.
        now: the monotonic clock, in seconds.
    """

    def __init__(
        self,
        find: Callable[[bytes], TokenRow | None],
        *,
        max_offline_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._find = find
        self._max_offline_s = max_offline_s
        self._now = now
        # until then PostgreSQL, which did not answer, is not asked about tokens that it knew
        self._away_until = -math.inf
        self._lock = threading.Lock()
        # what nobody made never drives out what is in use
        self._known: OrderedDict[bytes, LookedUp] = OrderedDict()
        self._unknown: OrderedDict[bytes, LookedUp] = OrderedDict()
        self._used_at: dict[bytes, float] = {}

    @property
    def period_s(self) -> float:
        """Return after how many seconds tokens are to be looked up again."""
        return LEASE_S / 2

    def known(self, hash: bytes) -> LookedUp | None:
        """The answer of a moment ago; None: PostgreSQL has to be asked."""
        with self._lock:
            found = self._known.get(hash) or self._unknown.get(hash)
            if found is None:
                return None
            now = self._used_at[hash] = self._now()
            if found.ends_at <= now:
                return self._remembered(found, now) if now < self._away_until else None
            if found.grant is not None:
                self._known.move_to_end(hash)
            return found

    def is_aging(self, found: LookedUp) -> bool:
        """Return whether an answer is to be asked for again, while it is still good."""
        return self._now() >= found.ages_at

    def look_up(self, hash: bytes) -> Grant | None:
        """Asks PostgreSQL. Where it does not answer, a token that it knew still reads.

        Raises:
            StoreLockedError: it does not answer, and the token is not remembered.
        """
        asked = self._now()
        try:
            row = self._find(hash)
        except StoreLockedError:
            remembered = self._without_answer(hash, asked)
            if remembered is None:
                raise
            return remembered
        grant, lease_s, left_s = None, UNKNOWN_S, math.inf
        if row is not None:
            grant = Grant(tenant=row.tenant, identity=row.identity, rights=row.rights)
            left_s = math.inf if row.left_s is None else row.left_s
            lease_s = min(LEASE_S, left_s)
        answer = LookedUp(
            grant=grant,
            ages_at=asked + lease_s / 2,
            ends_at=asked + lease_s,
            forgotten_at=asked + min(self._max_offline_s, left_s),
        )
        with self._lock:
            self._away_until = -math.inf
            kept, other = self._known, self._unknown
            if grant is None:
                kept, other = other, kept
            other.pop(hash, None)
            kept[hash] = answer
            self._used_at.setdefault(hash, asked)
            if len(kept) > _KNOWN_MAX:
                self._drop(next(iter(kept)))
        return grant

    def _without_answer(self, hash: bytes, asked: float) -> Grant | None:
        """The grant of a token that is remembered; None where it is not."""
        now = self._now()
        with self._lock:
            self._away_until = now + min(max(1.0, 4 * (now - asked)), _AWAY_PAUSE_S)
            found = self._known.get(hash)
            remembered = None if found is None else self._remembered(found, now)
            return None if remembered is None else remembered.grant

    def _remembered(self, found: LookedUp, now: float) -> LookedUp | None:
        """An answer of before as it holds while PostgreSQL does not give another; None: it holds no
        more."""
        if now < found.ends_at:
            return found
        if found.grant is None or found.forgotten_at <= now:
            return None
        grant = msgspec.structs.replace(found.grant, rights="read", from_memory=True)
        return msgspec.structs.replace(found, grant=grant, ages_at=math.inf)

    def look_up_again(self) -> None:
        """Asks PostgreSQL about every known token whose answer ages, so that none that was revoked
        while it answered is remembered when it answers no more. Those that nobody has used for so
        long are forgotten."""
        now = self._now()
        with self._lock:
            for hash in list(self._known):
                if self._used_at[hash] <= now - max(self._max_offline_s, LEASE_S):
                    self._drop(hash)
            aging = [hash for hash, one in self._known.items() if one.ages_at <= now]
        for hash in aging:
            self.look_up(hash)
            if self._now() < self._away_until:
                return

    def _drop(self, hash: bytes) -> None:
        for one in (self._known, self._unknown, self._used_at):
            one.pop(hash, None)


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token; another one is not looked up."""
    return _TOKEN.fullmatch(text) is not None
