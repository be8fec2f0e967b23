"""Putting the peers' servers on this machine, from Debian's own packages.

Only a person who wants to compare brokers runs this: the hub needs none of them. It installs what is missing
and says which version of each server is here; starting them is each peer's own matter.

Promises:
- A server that is already here is left as it is.
- No package starts a service while it is installed, and the machine's own policy about that is put back.
- What cannot be installed is named in the error; `find_servers` then says what a run can still measure.
"""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pregon.bench.peers.process import PeerMissing, find_executable

# Each server, which is also the name of its Debian package, and how it is asked for its version. RabbitMQ is
# not asked: its tool would leave a port mapper running behind it. Its folder carries the version instead.
VERSION_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "redis-server": ("--version",),
    "nats-server": ("--version",),
    "rabbitmq-server": (),
}
VERSION_SECONDS_MAX = 60
APT_SECONDS_MAX = 900
APT_LOCK_SECONDS_MAX = 120
ERROR_CHARACTERS_MAX = 1_000

# Keeps an Erlang program that a package script may run from leaving Erlang's port mapper behind.
NO_PORT_MAPPER = {"ERL_FLAGS": "-start_epmd false"}

SERVICE_POLICY = Path("/usr/sbin/policy-rc.d")
SERVICE_POLICY_KEPT = Path("/usr/sbin/policy-rc.d.kept-by-pregon")
SERVICE_POLICY_REFUSE = "#!/bin/sh\n# Written while the benchmark's peers are installed: start nothing.\nexit 101\n"


def find_servers() -> dict[str, str]:
    """The peers' servers that are on this machine, each with its version."""
    return {server: _version(server) for server in VERSION_ARGUMENTS if find_executable(server)}


def install_peers() -> dict[str, str]:
    """Install the servers that are missing, and return the version of each.

    Raises `PeerMissing`, naming every server that is still missing and why.
    """
    missing = [server for server in VERSION_ARGUMENTS if not find_executable(server)]
    if missing:
        _require_right_to_install(missing)
        problems = _install(missing)
        if problems:
            raise PeerMissing("\n".join(f"{server}: {why}" for server, why in problems.items()))
    return find_servers()


def require_wrk(may_install: bool) -> str:
    """The program that sends HTTP requests from many connections; raises `PeerMissing` if it is not here."""
    if not find_executable("wrk") and may_install:
        _require_right_to_install(["wrk"])
        problems = _install(["wrk"])
        if problems:
            raise PeerMissing(f"wrk: {problems['wrk']}")
    found = find_executable("wrk")
    if not found:
        raise PeerMissing("wrk: not installed; --install installs it from Debian's packages")
    return str(found)


def _require_right_to_install(missing: list[str]) -> None:
    names = ", ".join(missing)
    if shutil.which("apt-get") is None:
        raise PeerMissing(f"{names}: not installed, and this machine has no apt-get; install them by hand")
    if os.geteuid() != 0:
        raise PeerMissing(f"{names}: not installed, and only root may install them; run this as root")


def _install(missing: list[str]) -> dict[str, str]:
    """Install one package at a time, so that one that fails does not keep the others out."""
    problem = _apt_get("update")
    if problem:
        return dict.fromkeys(missing, f"apt-get update failed: {problem}")
    problems = {}
    with _services_kept_stopped():
        for server in missing:
            problem = _apt_get("install", "--yes", "--no-install-recommends", server)
            if problem:
                problems[server] = f"apt-get install failed: {problem}"
    return problems


def _apt_get(*arguments: str) -> str:
    """Run apt-get without questions; returns the end of its complaint, or nothing if all went well."""
    command = ("apt-get", "-o", f"DPkg::Lock::Timeout={APT_LOCK_SECONDS_MAX}", *arguments)
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", **NO_PORT_MAPPER},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=APT_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {APT_SECONDS_MAX} s"
    return "" if done.returncode == 0 else done.stderr.strip()[-ERROR_CHARACTERS_MAX:] or "no reason given"


@contextlib.contextmanager
def _services_kept_stopped() -> Iterator[None]:
    """Refuse every start of a service while packages are installed, then restore the machine's own policy."""
    # A kept policy that is already there was left by a run that was killed: that one is the machine's own.
    if SERVICE_POLICY.exists() and not SERVICE_POLICY_KEPT.exists():
        SERVICE_POLICY.rename(SERVICE_POLICY_KEPT)
    SERVICE_POLICY.write_text(SERVICE_POLICY_REFUSE)
    SERVICE_POLICY.chmod(0o755)
    try:
        yield
    finally:
        if SERVICE_POLICY_KEPT.exists():
            SERVICE_POLICY_KEPT.replace(SERVICE_POLICY)
        else:
            SERVICE_POLICY.unlink()


def _version(server: str) -> str:
    """The version that the server tells of itself, or "unknown"."""
    executable = find_executable(server)
    if executable is None:
        return "unknown"
    arguments = VERSION_ARGUMENTS[server]
    told = _told(executable, arguments) if arguments else str(executable.resolve())
    number = re.search(r"\d+\.\d+(\.\d+)?", told)
    return number.group() if number else "unknown"


def _told(executable: Path, arguments: tuple[str, ...]) -> str:
    """What the executable prints, or nothing if it cannot be run."""
    try:
        done = subprocess.run(
            (str(executable), *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSION_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
