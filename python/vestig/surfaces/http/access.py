"""Who may ask: the address that is listened on, Host, Origin and token of a request."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Sequence
from typing import Final

import msgspec

from vestig.config.service_sections import ServeSettings
from vestig.config.vendors import read_secret
from vestig.errors import ConfigError
from vestig.lazy_pattern import lazy_pattern
from vestig.surfaces.http.refusals import Refusal

Headers = Sequence[tuple[bytes, bytes]]
_LOOPBACK_NAMES: Final = frozenset(("localhost", "127.0.0.1", "[::1]"))
_REQUEST_ID: Final = lazy_pattern(r"[\x21-\x7e]{1,128}")
_PORT: Final = lazy_pattern(r"(?P<name>.*?)(?::(?P<port>[0-9]{0,5}))?")
_TOKEN: Final = lazy_pattern(r"[\x21-\x7e]+")
# characters of a token that other machines may try
_TOKEN_CHARS_LEAST: Final = 16


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def values(headers: Headers, name: bytes) -> list[str]:
    """All values of a header, in order."""
    return [value.decode("latin-1") for key, value in headers if key == name]


def header(headers: Headers, name: bytes) -> str | None:
    """The value of a header; None: it is not there.

    Raises:
        Refusal: it is there more than once: readers differ in which one counts.
    """
    found = values(headers, name)
    if len(found) > 1:
        shown = name.decode().title()
        raise Refusal(
            "validation", f"{shown}: expected once, got it {len(found)} times", status=400
        )
    return found[0] if found else None


def request_id_of(headers: Headers) -> str | None:
    """Return what the client calls its request; None: nothing that can be repeated in a header."""
    given = values(headers, b"x-request-id")
    return given[0] if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]) else None


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one server."""

    token: str | None
    hosts: frozenset[str]
    cors_origins: frozenset[str]

    @classmethod
    def of(cls, settings: ServeSettings, named_by: str = "serve.host") -> Access:
        """The rules that the configuration gives.

        Args:
            named_by: the key or the option that named the address.

        Raises:
            ConfigError: an address that others reach and no token, or a short one; a variable that
                is not set, or holds what no header can carry.
        """
        named = settings.token_env
        token = None if named is None else read_secret("serve.token_env", named)
        if token is None and not is_loopback(settings.host):
            raise ConfigError(
                f"{named_by}: {settings.host} is reached by other machines: expected"
                " serve.token_env to name the variable of a token, or a loopback address"
            )
        if token is not None:
            _check_token(token, named, is_loopback(settings.host))
        own = settings.host
        bracketed = f"[{own}]" if ":" in own and not own.startswith("[") else own
        hosts = _LOOPBACK_NAMES | {bracketed.lower(), *map(str.lower, settings.allowed_hosts)}
        return cls(
            token=token,
            hosts=frozenset(hosts),
            cors_origins=frozenset(settings.cors_origins),
        )

    def check_place(self, headers: Headers) -> None:
        """Check that a request names this server and comes from where it may.

        Raises:
            Refusal: a Host or an Origin of others: a page in a browser that was led here.
        """
        hosts = values(headers, b"host")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        found = _PORT.fullmatch(host)
        if found is None or found["name"] not in self.hosts:
            raise Refusal(
                "unauthorized", "Host: expected a name in serve.allowed_hosts", status=403
            )
        origins = values(headers, b"origin")
        known = {*self.cors_origins, f"http://{host}"}
        if len(origins) > 1 or (origins and origins[0] not in known):
            raise Refusal(
                "unauthorized", "Origin: expected an origin in serve.cors_origins", status=403
            )

    def check_token(self, headers: Headers) -> None:
        """Check that a request carries the token, compared in constant time.

        Raises:
            Refusal: it does not.
        """
        if self.token is None:
            return
        kind, _, given = (header(headers, b"authorization") or "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), self.token.encode())
        if kind.lower() != "bearer" or not same:
            raise Refusal(
                "unauthorized",
                "Authorization: expected Bearer and the token of this server",
                headers={"WWW-Authenticate": "Bearer"},
            )


def _check_token(token: str, variable: str | None, loopback: bool) -> None:
    """Refuses what no request could carry as it is, and what others could guess."""
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            f"serve.token_env: expected {variable} to hold visible ASCII characters without white"
            " space, as a header carries them; set another token"
        )
    if not loopback and len(token) < _TOKEN_CHARS_LEAST:
        raise ConfigError(
            f"serve.token_env: expected {variable} to hold at least {_TOKEN_CHARS_LEAST} characters"
            f" where other machines reach the server, got {len(token)}; set a longer token"
        )
