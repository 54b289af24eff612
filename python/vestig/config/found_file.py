"""The rule for a project file that was found and that nobody named.

A folder that somebody else filled lies above the working directory sooner or later. What is found
there may change how memories are ranked and shown, and nothing else: it decides for no text whether
it is kept, and leads to no provider, address, path, namespace or variable.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from vestig.config.files import Item, profile_key
from vestig.config.problems import Problems
from vestig.config.schema import mapping_of, sections, spec_of

# Keys and sections that a file may set wherever it was found, and what of them it may not. What
# stands in neither is refused: a new key is, until somebody decides that it loses no text.
_ANYWHERE: Final = (
    "time.zone",
    "usage",
    "links",
    "questions",
    "walk",
    "ranking",
    "reference",
    "signals",
    "recall",
    "search",
    "decay",
    "retrieve",
)
_OF_NAMED_FILES: Final = (
    "questions.model",
    "ranking.weights",
    "recall.synthesize",
    "recall.query_entities",
    "retrieve.llm",
    "retrieve.llm_max_calls",
    "retrieve.message_blacklist",
)


def found_file_may_set(key: str) -> bool:
    """Say that a file that was merely found may set a key, or a section as a whole.

    Example:
        >>> found_file_may_set("ranking.base"), found_file_may_set("embedding.base_url")
        (True, False)
    """
    within = any(_is_part(key, name) for name in _ANYWHERE)
    of_named = any(_is_part(key, name) or _is_part(name, key) for name in _OF_NAMED_FILES)
    return within and not of_named


def check_found_file(path: Path, items: list[Item]) -> None:
    """Refuse the keys of a found file that only a named one may set.

    Raises:
        InvalidConfigError: names each with its line, and how the file is named.
    """
    problems = Problems()
    named = shlex.quote(str(path))
    for item in items:
        if _is_refused(item):
            problems.add(
                item.place,
                item.old or item.key,
                "only a file that you name may set this, and this one was merely found; look at"
                f" it, then name it with --config {named}, VESTIG_CONFIG={named} or config=",
            )
    problems.raise_if_any()


def _is_part(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")


def _is_refused(item: Item) -> bool:
    key = profile_key(item.key) or item.key
    known = spec_of(key) is not None or mapping_of(key) is not None or key in sections()
    return known and not found_file_may_set(key)
