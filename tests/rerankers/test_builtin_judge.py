"""The judge as the product reads with it: weights made once, mapped, never trusted."""

from __future__ import annotations

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vestig.embedders import builtin, packed_file
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ConfigError, ProviderError
from vestig.rerankers import judge
from vestig.rerankers.judge import NAME, Judge, MemoryText

QUESTION = "Where does Ada live?"
DAY = "tuesday 3 march 2026 ·"
MEMORIES = [
    MemoryText(DAY, "so where did you end up?", "ada:", "I moved to Oslo in May."),
    MemoryText(DAY, "", "", "Ada lives in Bergen now."),
    MemoryText(DAY, "", "bob:", "The cat sleeps all day."),
]


@pytest.fixture(scope="module")
def judgements() -> list[tuple[float, float]]:
    """Those of the memories, by weights in memory."""
    weights, words, pieces = judge.packed(), builtin.packed(), builtin._vocabulary()
    return weights.read(words, pieces, QUESTION, MEMORIES, threads=1)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packed file of the judge in an empty cache folder; no warning has been given yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(packed_file, "_reported", [])
    monkeypatch.setattr(packed_file, "_faults", [])
    return Path(packed_file.path_of(NAME))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.vestig["reason"]  # type: ignore[attr-defined]
        for record in caplog.records
        if record.getMessage() == "weights_packed_again" and record.levelno == logging.WARNING
    ]


def test_what_answers_stands_above_what_does_not(judgements: list[tuple[float, float]]) -> None:
    assert Judge().read(QUESTION, MEMORIES) == judgements
    (moved, lives, cat) = judgements
    assert lives > moved > cat
    assert moved[0] > 0 > cat[0]


def test_a_memory_is_judged_alike_beside_any_others(judgements: list[tuple[float, float]]) -> None:
    own = Judge(threads_max=1)
    assert [own.read(QUESTION, [memory])[0] for memory in MEMORIES] == judgements
    assert Judge().read(QUESTION, MEMORIES[::-1] * 3) == judgements[::-1] * 3


def test_nothing_is_read_for_no_memory(cache: Path) -> None:
    assert Judge().read(QUESTION, []) == []
    assert not cache.parent.exists()


def test_the_first_use_makes_the_file_and_the_next_one_maps_it(
    cache: Path, judgements: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Judge().read(QUESTION, MEMORIES) == judgements
    assert cache.read_bytes()[:8] == b"VESTIGWT"
    monkeypatch.setattr(judge, "file", lambda: "nowhere")
    assert Judge().read(QUESTION, MEMORIES) == judgements


@pytest.mark.slow
@pytest.mark.parametrize("at", [3, 70, 400, 20_000, 5_000_000, -1])
def test_a_flipped_byte_never_reaches_a_judgement(
    at: int,
    cache: Path,
    judgements: list[tuple[float, float]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert judge.packed().write(str(cache))
    whole = cache.read_bytes()
    changed = bytearray(whole)
    changed[at] ^= 0x10
    cache.write_bytes(changed)
    own = Judge()
    for _ in range(2):
        assert own.read(QUESTION, MEMORIES) == judgements
    assert cache.read_bytes() == whole
    assert len(warnings(caplog)) == 1


def test_damaged_word_vectors_are_packed_again(
    cache: Path, judgements: list[tuple[float, float]], caplog: pytest.LogCaptureFixture
) -> None:
    Judge().read(QUESTION, MEMORIES)
    made = cache.stat()
    words = Path(packed_file.path_of(builtin.NAME))
    whole = words.read_bytes()
    words.write_bytes(whole[:-9_000_000] + bytes(9_000_000))
    assert Judge().read(QUESTION, MEMORIES) == judgements
    assert words.read_bytes() == whole
    assert len(warnings(caplog)) == 1
    assert cache.stat().st_mtime_ns == made.st_mtime_ns


def test_weights_that_are_missing_or_others_are_named(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "judge_layers.bin"
    monkeypatch.setattr(judge, "file", lambda: str(path))
    with pytest.raises(ConfigError, match=r"the judge: expected weights at .*install vestig again"):
        Judge().read(QUESTION, MEMORIES)
    path.write_bytes(b"others")
    with pytest.raises(ProviderError, match=r"a judge with SHA-256 .*, got .*install vestig again"):
        Judge().read(QUESTION, MEMORIES)
    assert not cache.exists()


def test_threads_that_begin_at_once_load_the_weights_once(
    cache: Path, judgements: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []
    real = judge._pack

    def counted() -> object:
        loads.append(1)
        return real()

    monkeypatch.setattr(judge, "_pack", counted)
    own = Judge()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: own.read(QUESTION, MEMORIES), range(4)))
    assert found == [judgements] * 4
    assert len(loads) == 1


def test_the_word_vectors_of_a_given_embedder_are_read(
    judgements: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = BuiltinEmbedder()
    embedder.embed([QUESTION])
    monkeypatch.setattr(builtin, "_mapped_weights", lambda: pytest.fail("loaded again"))
    assert Judge(embedder).read(QUESTION, MEMORIES) == judgements


def test_neither_the_core_nor_a_file_is_read_before_the_first_memory() -> None:
    script = (
        "import sys; from vestig.rerankers.judge import Judge; Judge();"
        "sys.exit('vestig._core' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
