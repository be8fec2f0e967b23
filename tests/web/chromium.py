"""Finding Chromium on this machine, or installing it from Debian's packages.

Promises:
- A browser that is already here is used as it is; nothing is installed beside it.
- Only root installs, and only with apt-get.
- Without a browser a test is skipped with a reason that says what to do; with CI=true it fails with it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from pregon.bench.peers import install as debian
from pregon.bench.peers.process import PeerMissing

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
PACKAGES = ["chromium", "fonts-liberation"]
"""Without a font there would be nothing to read in a screenshot."""


@dataclass(frozen=True)
class Chromium:
    """A browser that can be started."""

    executable: Path
    libraries: tuple[Path, ...] = ()
    """Folders of libraries that the system does not look into by itself."""

    def environment(self) -> dict[str, str]:
        """The variables with which it starts."""
        if not self.libraries:
            return dict(os.environ)
        folders = os.pathsep.join(str(folder) for folder in self.libraries)
        return {**os.environ, "LD_LIBRARY_PATH": folders}


def unpacked_folder() -> Path:
    """Where a person who is not root may unpack Debian's packages: `dpkg-deb -x FILE FOLDER`."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "pregon" / "chromium"


def find_chromium() -> Chromium | None:
    """The browser on the PATH, or else the one that was unpacked."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Chromium(Path(found))
    executable = unpacked_folder() / "usr" / "lib" / "chromium" / "chromium"
    if not os.access(executable, os.X_OK):
        return None
    shared = sorted(unpacked_folder().glob("usr/lib/*-linux-gnu*"))
    below = [folder for library in shared for folder in sorted(library.iterdir()) if folder.is_dir()]
    return Chromium(executable, (*shared, *below))


def require_chromium() -> Chromium:
    """The browser, installed if it must be and may be; otherwise the test ends here."""
    found = find_chromium()
    if found is not None:
        return found
    try:
        install_chromium()
    except PeerMissing as missing:
        give_up(f"this needs a browser. {missing}, or unpack the package and what it needs in {unpacked_folder()}")
    found = find_chromium()
    assert found is not None, "apt-get installed chromium, but it is not on the PATH"
    return found


def install_chromium() -> None:
    """Install Debian's package; raises `PeerMissing`, saying why it could not."""
    # The peers of the benchmarks come the same way: one place knows how to ask apt-get.
    debian._require_right_to_install(PACKAGES[:1])
    problems = debian._install(PACKAGES)
    if "chromium" in problems:
        raise PeerMissing(f"chromium: {problems['chromium']}")


def give_up(reason: str) -> None:
    """End the test: skipped on a laptop, failed in CI, where nobody would notice that it was skipped."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
