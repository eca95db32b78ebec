"""Small disks that a test can fill up. Only root can mount one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

DISK_BYTES: Final = 2 << 20
SUBMISSIONS_MAX: Final = 1_000


class Disk:
    """A mounted disk, and a file on it that takes all its room."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no room."""
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                return

    def free(self) -> None:
        """Give the room back."""
        self._ballast.unlink()


@contextmanager
def mounted(folder: Path, *, size: int = DISK_BYTES) -> Iterator[Disk]:
    """Mount a small disk at a new folder while the body runs."""
    folder.mkdir(mode=0o700)
    options = f"size={size},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill_by_submitting(http: httpx.Client) -> list[str]:
    """Submit until the disk is full; return what was accepted."""
    accepted: list[str] = []
    for number in range(SUBMISSIONS_MAX):
        answer = http.post("/v1/jobs", json={"spec": "echo", "input": f"{number} {'y' * 3000}"})
        if answer.status_code == 507:
            assert answer.json()["code"] == "store_unavailable"
            assert "nothing was changed, try again later" in answer.json()["detail"]
            assert answer.headers["Retry-After"]
            return accepted
        assert answer.status_code == 202, answer.text
        accepted.append(answer.json()["id"])
    raise AssertionError(f"{SUBMISSIONS_MAX} submissions did not fill the disk")
