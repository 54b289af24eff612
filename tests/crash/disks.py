"""Disks to break: ext4 in a file on a loop device, a tiny tmpfs. Only where root may mount."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

_EXT4_SHUTDOWN = 0x8004587D
_NO_LOG_FLUSH = 2


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _needs(*programs: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk to break")
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"no program {program} on this machine")


class PowerCutDisk:
    """An ext4 disk that can lose its power. Skips the test where there can be none."""

    def __init__(self, folder: Path) -> None:
        _needs("mkfs.ext4", "losetup", "mount", "umount")
        self.folder = folder / "disk"
        self.folder.mkdir()
        image = folder / "disk.ext4"
        with image.open("wb") as file:
            file.truncate(48 * 1024 * 1024)
        try:
            _run("mkfs.ext4", "-q", str(image))
            self._device = _run("losetup", "--find", "--show", str(image))
        except OSError as error:
            pytest.skip(f"no loop device can be made here: {error}")
        try:
            _run("mount", self._device, str(self.folder))
        except OSError as error:
            _run("losetup", "--detach", self._device)
            pytest.skip(f"a loop device cannot be mounted here: {error}")
        # Nothing but this disk may ever be shut down.
        assert os.stat(self.folder).st_dev != os.stat("/").st_dev
        assert os.stat(self.folder).st_dev != os.stat(folder).st_dev

    def cut(self) -> None:
        """Power off: what the disk was not told to keep is gone."""
        assert os.stat(self.folder).st_dev != os.stat("/").st_dev
        fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(fd, _EXT4_SHUTDOWN, _NO_LOG_FLUSH.to_bytes(4, "little"))
        finally:
            os.close(fd)

    def power_on(self) -> None:
        """Mounted again, as after a restart; nobody may use the disk any more."""
        unmount(self.folder)
        _run("mount", self._device, str(self.folder))

    def close(self) -> None:
        """Takes the disk away."""
        unmount(self.folder)
        _run("losetup", "--detach", self._device)


def unmount(folder: Path) -> None:
    """Waits for ended processes to let go."""
    for _ in range(50):
        try:
            _run("umount", str(folder))
        except OSError as error:
            last = error
            time.sleep(0.1)
        else:
            return
    raise last


def small_disk(folder: Path, bytes_max: int) -> Path:
    """A tmpfs of this size; skips the test where there can be none. Unmount it afterwards."""
    _needs("mount", "umount")
    disk = folder / "small"
    disk.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={bytes_max},mode=700", "tmpfs", str(disk))
    except OSError as error:
        pytest.skip(f"no tmpfs can be mounted here: {error}")
    return disk


def remount_read_only(disk: Path) -> None:
    """From now on nothing on it can be written, not even by root."""
    _run("mount", "-o", "remount,ro", str(disk))


def grow(disk: Path, bytes_max: int) -> None:
    """More room on a tmpfs."""
    _run("mount", "-o", f"remount,size={bytes_max}", str(disk))
