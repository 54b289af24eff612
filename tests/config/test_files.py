"""Includes, expansion and `.env`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vestig.config import Config
from vestig.errors import ConfigError

Loader = Callable[..., Config]


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_includes_nest_and_later_ones_win(loaded: Loader, home: Path) -> None:
    _write(
        home / "project",
        {
            "a.yaml": "hygiene: {min_chars: 1, max_chars: 100}\n",
            "sub/b.yaml": "include: c.yaml\nhygiene: {max_chars: 200}\n",
            "sub/c.yaml": "hygiene: {min_chars: 3}\nnamespace: c\n",
        },
    )
    config = loaded("include: [a.yaml, sub/b.yaml]\nnamespace: own\n")
    assert config.settings.hygiene.min_chars == 3
    assert config.settings.hygiene.max_chars == 200
    assert config.settings.namespace == "own"
    assert config.origin("hygiene.min_chars").endswith("c.yaml")
    config = loaded("include: [sub/b.yaml, a.yaml]\n")
    assert config.settings.hygiene.min_chars == 1
    assert config.settings.hygiene.max_chars == 100
    assert config.settings.namespace == "c"


def test_cycle_prints_the_way(loaded: Loader, home: Path) -> None:
    _write(home / "project", {"a.yaml": "include: b.yaml\n", "b.yaml": "include: [a.yaml]\n"})
    with pytest.raises(ConfigError, match=r"a\.yaml → b\.yaml → a\.yaml"):
        loaded("include: a.yaml\n")


def test_diamond_is_fine(loaded: Loader, home: Path) -> None:
    _write(
        home / "project",
        {
            "l.yaml": "include: base.yaml\n",
            "r.yaml": "include: base.yaml\n",
            "base.yaml": "namespace: base\n",
        },
    )
    assert loaded("include: [l.yaml, r.yaml]\n").settings.namespace == "base"


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("gone.yaml", None, "file not found: gone.yaml"),
        ("e.yaml", "", "the file is empty"),
        ("l.yaml", "- a\n", "holds a list"),
    ],
)
def test_bad_includes(
    loaded: Loader, home: Path, name: str, content: str | None, part: str
) -> None:
    if content is not None:
        _write(home / "project", {name: content})
    with pytest.raises(ConfigError) as caught:
        loaded(f"include: {name}\n")
    assert part in str(caught.value)


def test_include_that_is_no_name(loaded: Loader) -> None:
    with pytest.raises(ConfigError, match="include"):
        loaded("include: {a: b}\n")


def test_expansion(loaded: Loader) -> None:
    project = (
        "namespace: ${A}\n"
        "embedding: {model: 'm-${E:-b}-$${X}', base_url: '${U:-http://h}', batch_size: '${N}'}\n"
        "keywords: {stopwords: ['${A}', '${N}']}\n"
    )
    config = loaded(project, env={"A": "a1", "E": "", "N": "7"})
    embedding = config.settings.embedding
    assert config.settings.namespace == "a1"
    assert embedding.model == "m-b-${X}"
    assert embedding.base_url == "http://h"
    assert embedding.batch_size == 7
    assert config.settings.keywords.stopwords == ("a1", "7")


def test_unset_variable_is_an_error_with_name_and_key(loaded: Loader) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded("embedding: {model: '${GONE}'}\n")
    assert "GONE" in str(caught.value)
    assert "embedding.model" in str(caught.value)


def test_dotenv_expands_and_never_overrides(loaded: Loader, home: Path) -> None:
    (home / "project" / ".env").write_text(
        "# c\nexport A='from file' # no\nB=bee # why\nVESTIG_NAMESPACE=never\n", encoding="utf-8"
    )
    config = loaded("embedding: {model: '${B}', provider: '${A:-x}'}\n", env={"A": "env"})
    assert config.settings.embedding.model == "bee"
    assert config.settings.embedding.provider == "env"
    assert config.settings.namespace == "default"
