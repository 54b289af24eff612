"""Wrong arguments of `vestig.open`: a documented error that names the argument, and no folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vestig
from tables import each
from vestig.errors import ConfigError, ConfigNotFoundError, ValidationError
from vestig.testing import HashingEmbedder

_NAMESPACE = "1 to 64 characters of a-z 0-9 . _ -, and not . or .."
_CONFIG = "a file's path or an object of configuration keys"
_PATH = "a directory's path, or :memory:"


class BytesPath:
    """A path-like object that gives bytes."""

    def __fspath__(self) -> bytes:
        return b"x"


_NOTHING_TYPED: list[Any] = [5, True, 1.5, b"x", [], object(), float("nan")]
WRONG: list[tuple[str, Any, str]] = [
    *(("profile", value, "the name of a recall profile") for value in [*_NOTHING_TYPED, {}]),
    *(("config", value, _CONFIG) for value in [*_NOTHING_TYPED, (), "", "a\0b", BytesPath()]),
    *(
        ("namespace", value, _NAMESPACE)
        for value in [*_NOTHING_TYPED, {}, "", "Work", "a b", "\0", "x" * 65, "\udcff"]
    ),
    *(("path", value, _PATH) for value in [*_NOTHING_TYPED, {}, "", "a\0b", BytesPath()]),
    *(("path", value, _PATH) for value in ["sqlite:///x.db", "file:///x", "HTTP://u:pw@x/y"]),
    ("path", "\udcff", "a directory's path in UTF-8"),
    ("path", "~no-such-user/x", "a directory's path, with ~ of a known user"),
    *(("clock", value, "a function") for value in [5, "now", [], {}]),
    *(("on_commit", value, "a function") for value in [5, "hook", [], {}]),
    *(("read_only", value, "true or false") for value in [0, 1, "yes", [], float("nan")]),
    *(
        ("embedder", value, "an object with the methods of vestig.ports.Embedder")
        for value in [5, "builtin", {}]
    ),
    *(
        ("reranker", value, "an object with the methods of vestig.ports.Reranker")
        for value in [5, "onnx", {}]
    ),
]


@each(("name", "value", "expected"), WRONG)
def test_a_wrong_argument_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: Any, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments: dict[str, Any] = {"path": "store", "embedder": HashingEmbedder(8), name: value}
    with pytest.raises(ValidationError) as caught:
        vestig.open(**arguments)
    assert caught.value.field == name
    assert f"{name}: expected {expected}, got " in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@each(
    ("value", "error"),
    [
        ("gone.yaml", ConfigNotFoundError),
        ("x" * 5000, ValidationError),
        ("x" * 250, ConfigNotFoundError),
        ("\udcff", ConfigNotFoundError),
        (Path("/"), ConfigNotFoundError),
        ("~no-such-user/x", ConfigError),
        ({5: 1}, ConfigError),
        ({None: None}, ConfigError),
        ({"recall": 5}, ConfigError),
        ({"namespace": 5}, ConfigError),
        ({"store.path": 5}, ConfigError),
        ({"store.path": "~no-such-user/x"}, ConfigError),
        ({"recall.profile": 5}, ConfigError),
        ({"ranking.weights": "x" * 5000}, ConfigError),
        ({"ranking.weights": "a\0"}, ConfigError),
        ({"ranking.weights": "~no-such-user/x"}, ConfigError),
        ({"time.zone": "\0"}, ConfigError),
        ({"hygiene.min_chars": object()}, ConfigError),
    ],
)
def test_a_configuration_that_cannot_be_used_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: Any, error: type[Exception]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        vestig.open("store", config=value, embedder=HashingEmbedder(8))
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_profile_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    for name in ("", "nope", "\0", "x" * 5000):
        with pytest.raises(ConfigError, match="expected one of baseline, default, ref") as caught:
            vestig.open(str(tmp_path / "store"), profile=name)
        assert len(str(caught.value)) < 300
    assert list(tmp_path.iterdir()) == []


def test_an_address_is_refused_without_what_it_may_name(tmp_path: Path) -> None:
    with pytest.raises(ValidationError) as caught:
        vestig.open("mysql://ann:hunter2@db.example/x")
    assert str(caught.value) == (
        "path: expected a directory's path, or :memory:, got mysql://…; of addresses,"
        " vestig.open takes postgresql://… alone"
    )


class Half:
    """An embedder of which somebody wrote what they thought of."""

    model = "half"

    def embed(self, texts: Any) -> Any:
        return [[1.0] * 8 for _ in texts]


class Whole(Half):
    dimensions = 8
    fingerprint = ""

    def truncated(self, text: str) -> bool:
        return False


def test_what_an_embedder_lacks_is_named_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        vestig.open(":memory:", embedder=Half())  # type: ignore[arg-type]
    assert str(caught.value).endswith(
        'got a Half; it lacks dimensions: int, fingerprint: str ("" where there is none),'
        " truncated(text) -> bool; each vector is bytes of float32:"
        " numpy.asarray(vector, '<f4').tobytes()"
    )
    with pytest.raises(ValidationError, match=r"; it lacks score\(query, texts\) -> bytes; scores"):
        vestig.open(":memory:", reranker=Half())  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match=r"; it lacks complete\(request\) -> vestig.ports"):
        vestig.open(":memory:", llm=type("M", (), {"provider": "m"})())
    with pytest.raises(ValidationError, match=r"; embedder=Whole\(\) makes one$"):
        vestig.open(":memory:", embedder=Whole)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match=r"; it lacks embed\(texts\) -> list\[bytes\]; each"):
        vestig.open(":memory:", embedder=type("E", (Whole,), {"embed": "text"})())


@each(
    ("vectors", "message"),
    [
        (lambda n: [[1.0] * 8] * n, r"is list; numpy.asarray\(vector, '<f4'\).tobytes\(\) makes"),
        (lambda n: np.ones((n, 8), "<f4"), "got ndarray; give a list with one for each text"),
        (lambda n: [np.ones(8, "<f8").tobytes()] * n, ", or give float32 where these are float64"),
    ],
    ids=["numbers", "array", "float64"],
)
def test_vectors_in_another_form_are_told_how_they_are_given(vectors: Any, message: str) -> None:
    embedder = Whole()
    embedder.embed = lambda texts: vectors(len(texts))  # type: ignore[method-assign]
    with (
        vestig.open(":memory:", embedder=embedder) as store,
        pytest.raises(vestig.ProviderError, match=message),
    ):
        store.commit("The spare key lies under the pot")


def test_an_embedder_may_be_stated_by_another_object() -> None:
    class Around:
        """Has what the embedder has in it."""

        def __init__(self) -> None:
            self.inner = HashingEmbedder(8)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    with vestig.open(":memory:", embedder=Around()) as store:  # type: ignore[arg-type]
        assert store.commit("The spare key lies under the pot")
