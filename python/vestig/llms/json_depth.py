"""How deep a JSON text is nested, found without recursion."""

from __future__ import annotations

import re
from typing import Final

from vestig.lazy_pattern import lazy_pattern

# Readers of JSON recurse. Far below the depth at which they give up, nothing else that runs
# meanwhile, such as finalizers of other objects, runs out of stack.
DEPTH_MAX: Final = 64
_TOKEN: Final = lazy_pattern(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def is_too_deep(text: str) -> bool:
    """Return whether brackets outside of strings are open more than 64 deep at once.

    Example:
        >>> is_too_deep("[" * 65), is_too_deep("[]" * 65), is_too_deep('"' + "[" * 65 + '"')
        (True, False, False)
    """
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return False
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                return True
        elif token in "]}":
            depth -= 1
    return False
