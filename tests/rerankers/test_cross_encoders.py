"""Judge and version reader as the product reads with them: weights made once, mapped, never
trusted."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from vestig import _core
from vestig.embedders import builtin, packed_file
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ConfigError, ProviderError
from vestig.rerankers import cross_encoder, judge, version_reader
from vestig.rerankers.cross_encoder import Adapter
from vestig.rerankers.judge import Judge, MemoryText
from vestig.rerankers.version_reader import VersionReader

QUESTION = "Where does Ada live?"
DAY, LATER = "tuesday 3 march 2026 ·", "friday 5 june 2026 ·"
MEMORIES = [
    MemoryText(DAY, "so where did you end up?", "ada:", "I moved to Oslo in May."),
    MemoryText(DAY, "", "", "Ada lives in Bergen now."),
    MemoryText(DAY, "", "bob:", "The cat sleeps all day."),
]
OLDER = MemoryText(DAY, "", "", "Ada lives in Bergen.")
PAIRS = [
    (OLDER, MemoryText(LATER, "", lead, text))
    for lead, text in (
        ("ada:", "I have moved to Oslo."),
        ("", "Ada lives in Oslo."),
        ("ada:", "My sister lives in Oslo."),
        ("ada:", "I dream of a house in Oslo."),
        ("bob:", "The cat sleeps all day."),
    )
]


class Model(NamedTuple):
    """One of the two: its adapter, the class that reads, how weights read, and what is read."""

    adapter: Adapter
    reader: Callable[..., Any]
    read: Callable[..., Any]
    given: Sequence[Any]


MODELS = {
    "judge": Model(judge.QUESTIONS, Judge, _core.CrossEncoderWeights.judge, MEMORIES),
    "judge of prompts": Model(
        judge.PROMPTS,
        partial(Judge, adapter=judge.PROMPTS),
        _core.CrossEncoderWeights.judge,
        MEMORIES,
    ),
    "versions": Model(
        version_reader.ADAPTER, VersionReader, _core.CrossEncoderWeights.compare, PAIRS
    ),
}


@pytest.fixture(params=MODELS, scope="module")
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]


@pytest.fixture(scope="module")
def logits(model: Model) -> list[Any]:
    """Those of what is read, by weights in memory."""
    weights, words, pieces = model.adapter.packed(), builtin.packed(), builtin._vocabulary()
    found: list[Any] = model.read(weights, words, pieces, QUESTION, model.given, threads=1)
    return found


@pytest.fixture
def cache(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packed file in an empty cache folder; no warning has been given yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(packed_file, "_reported", [])
    monkeypatch.setattr(packed_file, "_faults", [])
    return Path(packed_file.path_of(model.adapter.name))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.vestig["reason"]  # type: ignore[attr-defined]
        for record in caplog.records
        if record.getMessage() == "weights_packed_again" and record.levelno == logging.WARNING
    ]


def test_what_answers_stands_above_what_does_not() -> None:
    moved, lives, cat = Judge().read(QUESTION, MEMORIES)
    assert lives > moved > cat
    assert moved[0] > 0 > cat[0]


def test_what_helps_with_a_task_stands_above_what_asked_for_one_like_it() -> None:
    day = "tuesday 3 march 2026 ·"
    texts = (
        "I prefer pnpm over npm, and never put emojis into commit messages",
        "commit the readme and write the commit message",
        "The cat sleeps all day.",
    )
    given = [MemoryText(day, "", "user:", text) for text in texts]
    reader = Judge(adapter=judge.PROMPTS)
    helps, asked, cat = reader.read("commit the new tests and write the commit message", given)
    assert helps > max(asked, cat)
    assert asked[0] < -2


def test_what_replaces_stands_above_what_does_not() -> None:
    moved, lives, sister, dream, cat = VersionReader().read(QUESTION, PAIRS)
    assert min(moved, lives) > 0 > max(sister, dream, cat)


def test_each_is_read_alike_beside_any_others(model: Model, logits: list[Any]) -> None:
    own = model.reader(threads_max=1)
    assert [own.read(QUESTION, [one])[0] for one in model.given] == logits
    assert model.reader().read(QUESTION, model.given[::-1] * 3) == logits[::-1] * 3


def test_nothing_is_read_for_nothing(model: Model, cache: Path) -> None:
    assert model.reader().read(QUESTION, []) == []
    assert not cache.parent.exists()


def test_the_first_use_makes_the_file_and_the_next_one_maps_it(
    model: Model, cache: Path, logits: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model.reader().read(QUESTION, model.given) == logits
    assert cache.read_bytes()[:8] == b"VESTIGWT"
    assert model.adapter.sha256[:16] in cache.name, "another adapter has a file of its own"
    monkeypatch.setattr(cross_encoder, "data_file", lambda _: "nowhere")
    assert model.reader().read(QUESTION, model.given) == logits


@pytest.mark.slow
@pytest.mark.parametrize("at", [3, 70, 400, 20_000, 5_000_000, -1])
def test_a_flipped_byte_never_reaches_a_logit(
    at: int, model: Model, cache: Path, logits: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert model.adapter.packed().write(str(cache))
    whole = cache.read_bytes()
    changed = bytearray(whole)
    changed[at] ^= 0x10
    cache.write_bytes(changed)
    own = model.reader()
    for _ in range(2):
        assert own.read(QUESTION, model.given) == logits
    assert cache.read_bytes() == whole
    assert len(warnings(caplog)) == 1


def test_damaged_word_vectors_are_packed_again(
    model: Model, cache: Path, logits: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    model.reader().read(QUESTION, model.given)
    made = cache.stat()
    words = Path(packed_file.path_of(builtin.NAME))
    whole = words.read_bytes()
    words.write_bytes(whole[:-9_000_000] + bytes(9_000_000))
    assert model.reader().read(QUESTION, model.given) == logits
    assert words.read_bytes() == whole
    assert len(warnings(caplog)) == 1
    assert cache.stat().st_mtime_ns == made.st_mtime_ns


def test_weights_that_are_missing_or_others_are_named(
    model: Model, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builtin.packed()
    whole = cross_encoder.data_file
    for file in ("cross_encoder_layers.bin", model.adapter.file):
        path = tmp_path / file
        with monkeypatch.context() as patched:
            patched.setattr(
                cross_encoder,
                "data_file",
                lambda name, of=path: str(of) if name == of.name else whole(name),
            )
            expected = rf"{model.adapter.what}: expected weights at .*install vestig again"
            with pytest.raises(ConfigError, match=expected):
                model.reader().read(QUESTION, model.given)
            path.write_bytes(b"others")
            with pytest.raises(ProviderError, match=r"SHA-256 .*, got .*install vestig again"):
                model.reader().read(QUESTION, model.given)
        assert not cache.exists()


def test_threads_that_begin_at_once_load_the_weights_once(
    model: Model, cache: Path, logits: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []
    real = Adapter.packed

    def counted(self: Adapter) -> Any:
        loads.append(1)
        return real(self)

    monkeypatch.setattr(Adapter, "packed", counted)
    own = model.reader()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: own.read(QUESTION, model.given), range(4)))
    assert found == [logits] * 4
    assert len(loads) == 1


def test_the_word_vectors_of_a_given_embedder_are_read(
    model: Model, logits: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = BuiltinEmbedder()
    embedder.embed([QUESTION])
    monkeypatch.setattr(builtin, "_mapped_weights", lambda: pytest.fail("loaded again"))
    assert model.reader(embedder).read(QUESTION, model.given) == logits


@pytest.mark.parametrize("reader", ["judge.Judge", "version_reader.VersionReader"])
def test_neither_the_core_nor_a_file_is_read_before_the_first_text(reader: str) -> None:
    module, name = reader.split(".")
    script = (
        f"import sys; from vestig.rerankers.{module} import {name}; {name}();"
        "sys.exit('vestig._core' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
