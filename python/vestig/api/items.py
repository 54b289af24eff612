"""`store.items`: values by key."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vestig import calls
from vestig.api.guards import CallsOfGroup, names_faults_of_methods
from vestig.api.views import Binding, binds_methods
from vestig.calls.declaration import checked, given
from vestig.calls.filter import Time
from vestig.results import Item, ItemPage, PutOutcome
from vestig.session.forks import apart_from_forks_of_methods
from vestig.session.session import Session

if TYPE_CHECKING:
    from vestig.results import ForgetReport


@names_faults_of_methods
@apart_from_forks_of_methods
@binds_methods
class Items(CallsOfGroup):
    """Values by namespace, scope and key of one open store, as `store.items`.

    A value is any JSON and comes back as it is, but for secrets, which are masked. Its text is the
    memory of its key, so that searches find it; no two keys share one, and none is refused.
    """

    def __init__(self, session: Session, binding: Binding | None = None) -> None:
        self._session = session
        self._binding = binding

    def put(
        self,
        key: str,
        value: Any,
        *,
        scope: str | None = None,
        text: str | None = None,
        role: str | None = None,
        index: bool = True,
        expires: Time = None,
        expected: int | None = None,
        namespace: str | None = None,
    ) -> PutOutcome:
        """Keeps a value, in the place of the one that the key has. The same value, text and end
        again change nothing.

        Args:
            key: What the value is kept under, such as theme or notes/today.md.
            value: Any JSON of at most 1 MiB; it comes back as it is.
            scope: The label inside the namespace under which the key stands; its parts are divided
                by slashes, and one within a part is written %2F.
            text: Words by which searches find it: a memory of this key. Absent: none do.
            role: Part in a dialogue of who said the text.
            index: Make a memory of the text.
            expires: From then on nothing shows it, and `gc` removes it for good.
            expected: The version that it has to have, 0 for a key without a value; else
                `ConflictError`.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ConflictError: another version than `expected`, or the memory of the key is pinned;
                nothing is written.
            ValidationError: no JSON, too long, or too many levels.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     put = store.items.put
            ...     first = put("theme", {"dark": True}, text="Ada prefers the dark theme")
            ...     again = put("theme", {"dark": True}, text="Ada prefers the dark theme")
            ...     found = store.recall("which theme does Ada prefer?")[0]
            ...     first.version, again.changed, found.memory.key
            (1, False, 'theme')
        """
        arguments = calls.items.with_null({**given(locals()), "value": value})
        asked = checked(calls.items.PutRequest, arguments)
        from vestig.items.put import put_many

        return put_many(self._session, [asked], asked.namespace, answer=lambda found: found[0])[0]

    def put_many(
        self, items: Sequence[Mapping[str, Any]], *, namespace: str | None = None
    ) -> builtins.list[PutOutcome]:
        """Keeps several values in one transaction, in order: all are written, or none.

        Args:
            items: Objects with the arguments of `put`, all but namespace; at most 1000.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ConflictError, ValidationError: as `put`; nothing is written.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     both = store.items.put_many(
            ...         [{"key": "a", "value": 1}, {"key": "b", "value": None, "scope": "x"}]
            ...     )
            ...     [one.version for one in both], store.items.get("b", scope="x").value
            ([1, 1], None)
        """
        asked = checked(calls.items.PutManyRequest, given(locals()))
        puts = calls.items.puts_of(asked)
        from vestig.items.put import put_many

        return put_many(self._session, puts, asked.namespace)

    def get(
        self, key: str, *, scope: str | None = None, namespace: str | None = None
    ) -> Item | None:
        """The value of a key with its version and times; None where there is none.

        Args:
            key: What the value is kept under, such as theme or notes/today.md.
            scope: The label inside the namespace under which the key stands; its parts are divided
                by slashes, and one within a part is written %2F.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.items.ItemRequest, given(locals()))
        from vestig import items

        return items.get(self._session, asked)

    def delete(
        self,
        keys: str | Sequence[str] | None = None,
        *,
        scope: str | None = None,
        scope_prefix: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
        namespace: str | None = None,
    ) -> ForgetReport:
        """Removes items for good, each with every version of its text, as `forget` does: no byte of
        them stays in any file of the store, which is searched once to prove it. A key without a
        value is none to remove.

        Args:
            keys: A key, or a list of keys, of this scope; absent: all of it.
            scope: The label inside the namespace under which the key stands; its parts are divided
                by slashes, and one within a part is written %2F.
            scope_prefix: All items of this scope and those below it.
            force: Where the text is pinned too.
            dry_run: Say what would go and keep it.
            actor: Who deletes; kept in tombstones.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: nothing is selected. ConflictError: a text is pinned. Nothing is
                removed in these cases.
            ForgetIncompleteError: as `forget`.

        Example:
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     _ = store.items.put("pin", 4711, text="The pin of the door is set")
            ...     report = store.items.delete("pin")
            ...     report.rows_removed["items"], store.items.get("pin"), store.count()
            (1, None, 0)
        """
        asked = checked(calls.items.DeleteRequest, given(locals()))
        from vestig.memories.forget import delete_items

        return delete_items(self._session, asked)

    def list(
        self,
        scope_prefix: str | None = None,
        *,
        offset: int = 0,
        limit: int = 20,
        namespace: str | None = None,
    ) -> ItemPage:
        """One page of items, by scope and key; those without a scope come first.

        Args:
            scope_prefix: Only items of this scope and those below it; absent: all.
            offset: Items to skip.
            limit: Items per page, at most 1000.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.items.ListItemsRequest, given(locals()))
        from vestig import items

        return items.page(self._session, asked)

    def scopes(
        self,
        prefix: str | None = None,
        *,
        depth: int | None = None,
        namespace: str | None = None,
    ) -> builtins.list[str]:
        """Scopes that hold items, each once, ascending.

        Args:
            prefix: Only this scope and those below it; absent: all.
            depth: Only so many parts of each, the rest cut off.
            namespace: The namespace to act in instead of the store's own.
        """
        asked = checked(calls.items.ScopesRequest, given(locals()))
        from vestig import items

        return items.scopes(self._session, asked)
