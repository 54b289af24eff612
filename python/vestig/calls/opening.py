"""Opening a store."""

from typing import Annotated, Any, ClassVar

from vestig.arguments import ITEM_LABEL_CHARS_MAX, POSITION_MAX
from vestig.calls.argument import (
    Flag,
    Function,
    Integer,
    Label,
    Namespace,
    Port,
    Profile,
)
from vestig.calls.declaration import InNamespace, Request
from vestig.calls.scope import ViewScope


class OpenRequest(Request, frozen=True, kw_only=True):
    """How a store is opened. `must_exist`: a path without one is refused, and not taken for an
    empty one."""

    call: ClassVar = "open"

    path: Annotated[
        Any,
        Port(
            'The directory of the store; ":memory:" keeps everything in memory;'
            " postgresql://… is the database of a tenant; default store.path of the configuration."
        ),
    ] = None
    tenant: Annotated[
        Any, Port("The name of a tenant, where path is an address of PostgreSQL.")
    ] = None
    config: Annotated[
        Any, Port("Path of a configuration file, or an object of keys that win over every file.")
    ] = None
    profile: Annotated[str | None, Profile("Recall profile of this store.")] = None
    namespace: Annotated[
        str | None, Namespace("The namespace in which all calls act unless they name another.")
    ] = None
    clock: Annotated[
        Any, Function("A function giving the current time; for tests and replays.")
    ] = None
    on_commit: Annotated[Any, Function("Called with every outcome, after the write.")] = None
    check_url: Annotated[
        Any,
        Function(
            "Called with the address of an anchor; gives the hash of what stands there, or None."
        ),
    ] = None
    read_only: Annotated[bool, Flag("Change no file; writes raise `StoreLockedError`.")] = False
    init: Annotated[bool, Flag("Begin a store among other files, or where one was lost.")] = False
    embedder: Annotated[
        Any, Port("An object of the Embedder port instead of the configured one.")
    ] = None
    reranker: Annotated[
        Any, Port("An object of the Reranker port instead of the configured one.")
    ] = None
    llm: Annotated[
        Any, Port("An object of the LanguageModel port instead of the configured one.")
    ] = None
    accept_ledger: Annotated[
        bool,
        Flag(
            "Take a ledger as it stands that is older than its witness or its projection, which"
            " are made again from it; what is missing stays missing."
        ),
    ] = False
    change_embedder: Annotated[
        bool,
        Flag(
            "Open a store whose vectors are of another model, for"
            " `store.admin.rebuild(embeddings=True)`; until then nothing is embedded."
        ),
    ] = False
    worker: Annotated[
        bool,
        Flag("Work the queue of enrichment jobs in a background thread until the store is closed."),
    ] = False
    must_exist: bool = False


class ScopedRequest(Request, frozen=True, kw_only=True):
    """The scope, author and namespace of a view of a store."""

    call: ClassVar = "scoped"

    scope: Annotated[
        str,
        ViewScope("The scope in which it reads and writes.", chars_max=ITEM_LABEL_CHARS_MAX),
    ]
    author: Annotated[
        str | None,
        Label("Who said or wrote what is stored through it and names nobody.", trim=True),
    ] = None
    namespace: InNamespace = None


class FreshRequest(Request, frozen=True, kw_only=True):
    """How far a copy of a tenant is to come."""

    call: ClassVar = "fresh"

    min_position: Annotated[
        int | None,
        Integer(
            "A position that is there afterwards, as `position` gave it.",
            least=0,
            most=POSITION_MAX,
        ),
    ] = None
