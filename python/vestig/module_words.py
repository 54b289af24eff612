"""Words that other programs, and people, have for names of the package and of its modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from vestig.other_words import (
    clause_of,
    meaning_in,
    meaning_of_word,
    missing_attribute,
    nearest,
)
from vestig.word_tables import call_words

_ADAPTER: Final = "vestig.integrations"


def name_of_module(name: str, names: Iterable[str]) -> str:
    """The name or call that does what an unknown name of the package is thought to do; "" = none.

    Example:
        >>> name_of_module("Client", []), name_of_module("remember", [])
        ('vestig.open(path)', 'vestig.open(path).commit')
    """
    if (found := meaning_in(name, call_words()["names"]["vestig"])) is not None:
        return found
    own = [ours for ours in call_words()["store"] if ours.rpartition(".")[2] == name]
    # a call of the store itself is shorter than one of a group
    found = meaning_of_word(name) or min(own, key=len, default="")
    # what is to be deleted may be the store itself
    if found.startswith("store.") and not found.startswith("store.forget"):
        return f"vestig.open(path).{found.removeprefix('store.')}"
    near = nearest(name, names)
    return f"vestig.{near}" if near else ""


def missing_name(name: str, module: Mapping[str, Any]) -> AttributeError | ImportError:
    """The error of a name that a module does not have, for its `__getattr__`, with what does what
    was meant.

    A line that imports the name drops the text of an `AttributeError`, so that it gets an
    `ImportError`.

    Args:
        module: the names of the module.
    """
    import sys
    from opcode import opmap

    owner = module["__name__"]
    meant = "" if name.startswith("_") else _meant(name, owner, module)
    caller = sys._getframe(2)
    if meant and caller.f_code.co_code[caller.f_lasti] == opmap["IMPORT_FROM"]:
        text = f"cannot import name {name!r} from {owner!r}{clause_of(meant)}"
        return ImportError(text, name=owner, path=module["__file__"])
    return missing_attribute(name, f"module {owner!r}", meant)


def _meant(name: str, owner: str, module: Mapping[str, Any]) -> str:
    package = ".".join(owner.split(".")[:2])
    tables = call_words()["names"]
    if found := meaning_in(name, tables.get(package, {})):
        return found
    own = module.get("__all__")
    if own is None:
        own = [one for one, value in module.items() if getattr(value, "__module__", "") == owner]
    if owner == "vestig":
        everywhere = (meaning_in(name, names) for names in tables.values())
        return name_of_module(name, own) or next(filter(None, everywhere), "")
    # a class is no slip for a function
    near = nearest(name, [one for one in own if one[0].isupper() == name[0].isupper()])
    if near:
        return f"{owner}.{near}"
    return "" if package == _ADAPTER else name_of_module(name, ())
