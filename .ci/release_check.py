"""Checks that a release can be made of this checkout: `make release-check`.

    python3 .ci/release_check.py              # build in environments of its own, and check
    python3 .ci/release_check.py --licences   # write LICENSE-CRATES anew

The versions agree; LICENSE-CRATES is that of the crates linked into the core; `make wheels` builds
wheel and source into dist/; twine accepts their metadata and renders README; the wheel installs
without a Rust toolchain and `vestig demo` runs. Nothing is uploaded.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from email.parser import BytesParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = "LICENSE-CRATES"
BUILDERS = ("maturin>=1.16,<2", "ziglang>=0.15,<1", "twine>=6", "readme_renderer[md]>=44")
TARGET = "x86_64-unknown-linux-gnu"
# Of a crate under one of several licences, the first of these; Unicode's holds beside any.
_TEXTS = ("LICENSE-MIT", "LICENSE-MIT.md", "LICENSE", "LICENSE.txt", "LICENSE-APACHE")
_BESIDE = ("LICENSE-UNICODE",)


def versions(root: Path) -> dict[str, str]:
    """What each file says that the version is."""
    cargo = tomllib.loads((root / "Cargo.toml").read_text("utf-8"))
    lock = tomllib.loads((root / "Cargo.lock").read_text("utf-8"))
    found = {"Cargo.toml": cargo["workspace"]["package"]["version"]}
    for package in lock["package"]:
        if package["name"].startswith("vestig-"):
            found[f"Cargo.lock, {package['name']}"] = package["version"]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    # maturin takes a dynamic version from Cargo.toml
    if "version" not in project.get("dynamic", ()):
        found["pyproject.toml"] = project["version"]
    server = json.loads((root / "server.json").read_text("utf-8"))
    found["server.json"] = server["version"]
    for package in server["packages"]:
        found[f"server.json, {package['identifier']}"] = package["version"]
        pinned = re.findall(r"vestig\[mcp\]==([\w.]+)", json.dumps(package))
        found |= {f"server.json, pin {number}": one for number, one in enumerate(pinned, 1)}
    heading = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    found["CHANGELOG.md"] = heading[1] if heading else "none"
    return found


def disagreeing(found: dict[str, str]) -> list[str]:
    """One line for each file whose version is not that of Cargo.toml."""
    right = found["Cargo.toml"]
    return [f"{where}: expected {right}, got {one}" for where, one in found.items() if one != right]


def metadata_faults(metadata: bytes, names: set[str], version: str) -> list[str]:
    """What a release's metadata lacks.

    Args:
        metadata: the file METADATA or PKG-INFO.
        names: base names of the licence files beside it.
    """
    found = BytesParser().parsebytes(metadata)
    wanted = {"Name": "vestig", "Version": version, "License-Expression": "Apache-2.0"}
    faults = [
        f"{field}: expected {value}, got {found[field]}"
        for field, value in wanted.items()
        if found[field] != value
    ]
    for field in ("Summary", "Requires-Python", "Keywords"):
        if not found[field]:
            faults.append(f"{field}: expected a value, got none")
    if found["Description-Content-Type"] is None or not found.get_payload():
        faults.append("Description: expected README.md, got none")
    for name in ("LICENSE", "NOTICE", CRATES):
        if name not in (found.get_all("License-File") or ()) or name not in names:
            faults.append(f"License-File: expected {name}, got no such file")
    return faults


def crates_named(text: str) -> set[tuple[str, str]]:
    """(name, version) of the crates of LICENSE-CRATES."""
    return set(re.findall(r"^## (\S+) (\S+) \(.+\)$", text, re.MULTILINE))


def linked_crates() -> list[dict[str, object]]:
    """The crates whose code is in the core, as `cargo metadata` has them, by name."""
    said = subprocess.run(
        ("cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", TARGET),
        cwd=ROOT, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    tree = json.loads(said.stdout)
    packages = {one["id"]: one for one in tree["packages"]}
    nodes = {one["id"]: one["deps"] for one in tree["resolve"]["nodes"]}
    waiting = [id for id, one in packages.items() if one["name"] == "vestig-py"]
    found: dict[str, dict[str, object]] = {}
    while waiting:
        id = waiting.pop()
        if id in found or any("proc-macro" in one["kind"] for one in packages[id]["targets"]):
            continue
        found[id] = packages[id]
        for needed in nodes[id]:
            if any(one["kind"] is None for one in needed["dep_kinds"]):
                waiting.append(needed["pkg"])
    others = [one for one in found.values() if not str(one["name"]).startswith("vestig-")]
    return sorted(others, key=lambda one: (str(one["name"]), str(one["version"])))


def licences() -> str:
    """LICENSE-CRATES: each crate with its licence, each text once."""
    parts = ["The core of Vestig holds code of these crates, under these licences.\n"]
    first_with: dict[str, str] = {}
    for crate in linked_crates():
        name = f"{crate['name']} {crate['version']}"
        folder = Path(str(crate["manifest_path"])).parent
        files = [next((one for one in _TEXTS if (folder / one).is_file()), None)]
        files += [one for one in _BESIDE if (folder / one).is_file()]
        if files[0] is None:
            raise SystemExit(f"{name}: expected the text of its licence in {folder}, got none")
        parts.append(f"## {name} ({crate['license']})\n")
        for file in files:
            text = (folder / str(file)).read_text("utf-8").strip()
            known = first_with.setdefault(text, name)
            parts.append(f"{text}\n" if known == name else f"The text under {known}.\n")
    return "\n".join(parts)


def _members(file: Path) -> tuple[bytes, set[str]]:
    """The metadata of a wheel or a source, and the names of its licence files."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as packed:
            names = packed.namelist()
            place = next(one for one in names if one.endswith(".dist-info/METADATA"))
            licence = {Path(one).name for one in names if ".dist-info/licenses/" in one}
            return packed.read(place), licence
    with tarfile.open(file) as tar:
        paths = [Path(one) for one in tar.getnames()]
        place = next(str(one) for one in paths if one.name == "PKG-INFO" and len(one.parts) == 2)
        opened = tar.extractfile(place)
        assert opened is not None
        return opened.read(), {one.name for one in paths if len(one.parts) == 2}


def _environment(place: Path, *requirements: str) -> Path:
    venv.create(place, with_pip=True)
    if requirements:
        _run(place / "bin" / "pip", "install", "--quiet", *requirements)
    return place / "bin"


def _run(*command: object, **more: object) -> None:
    words = [str(one) for one in command]
    print("$", *words, flush=True)
    if subprocess.run(words, cwd=more.pop("cwd", ROOT), check=False, **more).returncode:  # type: ignore[call-overload]
        raise SystemExit(f"release-check: failed: {' '.join(words)}")


def _check_builds(scratch: Path, version: str) -> None:
    builders = _environment(scratch / "builder", *BUILDERS)
    _run("make", "wheels", f"BIN={builders}", f"WHEEL_TARGETS={TARGET}")
    built = sorted((ROOT / "dist").iterdir())
    kinds = sorted("".join(one.suffixes[-1:]) for one in built)
    if kinds != [".gz", ".whl"]:
        raise SystemExit(f"dist/: expected one wheel and the source, got {built}")
    faults = [f"{one.name}: {fault}" for one in built
              for fault in metadata_faults(*_members(one), version)]  # fmt: skip
    if faults:
        raise SystemExit("\n".join(faults))
    _run(builders / "twine", "check", "--strict", *built)
    bare = _environment(scratch / "bare")
    path = {**os.environ, "PATH": "/usr/bin:/bin"}
    wheel = next(one for one in built if one.suffix == ".whl")
    _run(bare / "pip", "install", "--quiet", "--only-binary", ":all:", wheel, env=path)
    _run(bare / "vestig", "demo", env=path, cwd=scratch, stdout=subprocess.DEVNULL)


def main(words: list[str]) -> None:
    """Writes LICENSE-CRATES, or checks everything; SystemExit where something is wrong."""
    text = licences()
    if words == ["--licences"]:
        (ROOT / CRATES).write_text(text, "utf-8")
        return
    found = versions(ROOT)
    faults = disagreeing(found)
    if (ROOT / CRATES).read_text("utf-8") != text:
        faults.append(f"{CRATES}: expected the crates of Cargo.lock: release_check.py --licences")
    if faults:
        raise SystemExit("\n".join(faults))
    with tempfile.TemporaryDirectory() as scratch:
        _check_builds(Path(scratch), found["Cargo.toml"])
    print(f"release-check: vestig {found['Cargo.toml']} can be released from dist/")


if __name__ == "__main__":
    main(sys.argv[1:])
