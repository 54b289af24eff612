"""The suite is isolated: no network, no user directories, no settings from outside."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import isolation
from tables import each


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.invalid"])
def test_connections_that_would_leave_the_machine_are_refused(host: str) -> None:
    with pytest.raises(OSError, match="tests reach no network"):
        socket.create_connection((host, 80), timeout=1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as raw, pytest.raises(OSError, match="tests reach no network"):
        raw.connect((host, 80))
    with (
        socket.socket(family, socket.SOCK_DGRAM) as datagram,
        pytest.raises(OSError, match="tests reach no network"),
    ):
        datagram.sendto(b"x", (host, 53))


def test_a_server_on_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname(), timeout=5)
        client.close()


@each(
    ("address", "local"),
    [
        (("127.0.0.1", 1), True),
        (("::1", 1, 0, 0), True),
        (("localhost", 1), True),
        ("/run/some.socket", True),
        (("10.0.0.1", 1), False),
        (("0.0.0.1", 1), False),
        (("127.0.0.1.example.org", 1), False),
        (None, False),
    ],
)
def test_what_counts_as_this_machine(address: object, local: bool) -> None:
    assert isolation.is_local(address) is local


def test_user_directories_and_settings_stay_outside(isolated: Path) -> None:
    assert Path.home() == isolated
    assert os.environ["XDG_DATA_HOME"].startswith(str(isolated))
    given = [n for n in os.environ if n.startswith("VESTIG_") and "_TEST_" not in n]
    assert given == ["VESTIG_JUDGE__BUDGET_MS"], "what makes results the same on a busy machine"


def test_each_test_has_a_home_of_its_own(isolated: Path) -> None:
    assert list(isolated.iterdir()) == []


def test_the_zone_of_this_run_is_one_of_the_list() -> None:
    assert os.environ["TZ"] in isolation.ZONES or os.environ["TZ"] == os.environ["VESTIG_TEST_TZ"]


def test_the_built_in_embedder_reports_to_nobody_and_leaves_its_weights_alone(
    isolated: Path,
) -> None:
    """Only the file of packed weights, in the cache folder, and nothing of onnxruntime."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    environ["XDG_CACHE_HOME"] = str(isolated / "cache")
    code = (
        "from vestig.config.schema import EmbeddingSettings\n"
        "from vestig.registry import make_embedder\n"
        "import sys, os\n"
        "assert len(make_embedder(EmbeddingSettings()).embed(['a text'])) == 1\n"
        "assert 'onnxruntime' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], env=environ, check=True, timeout=120)
    files = [path.relative_to(isolated) for path in isolated.rglob("*") if path.is_file()]
    assert {path.parent for path in files} == {Path("cache/vestig")}
    assert {path.suffix for path in files} == {".weights", ".lock"}


def test_onnxruntime_reports_to_nobody(isolated: Path) -> None:
    """onnxruntime would write a device id and send events as soon as it is imported."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    code = (
        "from vestig.indexes import build\n"
        "import sys, os\n"
        "build(8, [])\n"
        "assert 'onnxruntime' in sys.modules\n"
        "assert os.environ['ORT_DISABLE_TELEMETRY'] == '1'"
    )
    subprocess.run([sys.executable, "-c", code], env=environ, check=True, timeout=120)
    assert [path for path in isolated.rglob("*") if path.is_file()] == []
