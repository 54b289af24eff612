"""An extension of the reader of docstrings: `Example:` opens a section of code like `Examples:`.

Used by the builder of the site (`zensical.toml`), which has griffe; nothing else imports it.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Reads the one example of a docstring as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with every object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub("Examples:", obj.docstring.value)
