"""The hub behind TLS, with the certificates that docs/how-to/secure-the-hub.md makes, and commands that reach it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pregon.client import Client

from .command_line import Said, run
from .conftest import MakeHub
from .hub_process import HubProcess

GUIDE = Path(__file__).parents[2] / "docs/how-to/secure-the-hub.md"
Ask = Callable[..., Said]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what the guide's commands make, run word for word."""
    directory = tmp_path_factory.mktemp("tls")
    commands = [line[2:] for line in GUIDE.read_text().splitlines() if line.startswith(("$ openssl ", "$ cat dgrec"))]
    assert len(commands) == 4
    for command in commands:
        subprocess.run(["bash", "-c", command], cwd=directory, check=True, capture_output=True)
    return directory


@pytest.fixture
def secured(make_hub: MakeHub, certificates: Path) -> HubProcess:
    """A hub with an https door and an administrator, not yet started."""
    hub = make_hub()
    hub.options += ["--tls-certificate", f"{certificates}/hub.pem", "--tls-key", f"{certificates}/hub.key"]
    return hub


def address_of(hub: HubProcess) -> str:
    """The https door, by the name in its certificate."""
    return f"https://localhost:{hub.addresses.http.rpartition(':')[2]}"


def test_the_files_of_the_guide_are_accepted_by_the_strictest_clients(certificates: Path) -> None:
    verify = ["openssl", "verify", "-x509_strict", "-CAfile", "ca.pem"]

    said = subprocess.run([*verify, "hub.pem", "dgrec.crt"], cwd=certificates, capture_output=True, text=True)

    assert said.stdout == "hub.pem: OK\ndgrec.crt: OK\n", said.stderr


def test_commands_reach_a_hub_by_https_if_they_trust_its_authority(secured: HubProcess, certificates: Path) -> None:
    admin = run("token", "create", "admin", "--scope", "admin", "--data", secured.data).out.strip()
    secured.start()
    url, trust = address_of(secured), {"SSL_CERT_FILE": f"{certificates}/ca.pem"}

    created = run("topic", "create", "novedades", "--json", hub=url, key=admin, **trust)
    published = run("publish", "novedades", "--json", hub=url, key=admin, stdin="a\nb\n", **trust)
    pulled = run("pull", "novedades", "--raw", "--hub", url, key=admin, **trust)
    nobody = run("topic", "list", "--json", hub=url, **trust)
    stranger = run("topic", "list", "--json", hub=url, key=admin)
    in_clear = run("publish", "novedades", "x", "--timeout", "300", hub=url.replace("https", "http"), key=admin)
    examined = run("doctor", "--json", "--data", secured.data, hub=url, key=admin, **trust)

    assert (created.status, published.row["last_seq"], pulled.out) == (0, 2, "a\nb\n")
    assert (nobody.status, nobody.error["code"]) == (7, "unauthorized")
    assert stranger.status != 0
    assert in_clear.status != 0
    assert {row["check"]: row["is_well"] for row in examined.rows}["hub"]


def test_a_hub_that_asks_for_certificates_lets_nobody_in_without_one(secured: HubProcess, certificates: Path) -> None:
    secured.options += ["--tls-client-ca", f"{certificates}/ca.pem"]
    secured.start()
    url, trust = address_of(secured), {"SSL_CERT_FILE": f"{certificates}/ca.pem"}
    own = f"{certificates}/dgrec.pem"
    curl = ["curl", "-s", "--cacert", f"{certificates}/ca.pem", f"{url}/healthz"]

    without = run("publish", "novedades", "x", "--timeout", "500", hub=url, **trust)
    with_it = run("publish", "novedades", "x", "--json", hub=url, PREGON_CERTIFICATE=own, **trust)
    elsewhere = run("topic", "list", hub=secured.url, PREGON_CERTIFICATE=own)
    watched = [subprocess.run([*curl, *more], capture_output=True).stdout for more in ([], ["--cert", own])]
    pair = (f"{certificates}/dgrec.crt", f"{certificates}/dgrec.key")
    with Client(url, ca=f"{certificates}/ca.pem", certificate=pair) as client:
        listed = client.list("topic")

    assert without.status != 0
    assert with_it.row["seq"] == 1
    assert elsewhere.status == 0, "the variable is only for https"
    assert watched == [b"", b"ok\n"]
    assert [row["name"] for row in listed] == ["novedades"]


def test_a_certificate_that_is_not_there_is_told(secured: HubProcess, tmp_path: Path) -> None:
    url = address_of(secured)

    said = run("topic", "list", "--json", hub=url, PREGON_CERTIFICATE=str(tmp_path / "absent.pem"))

    assert (said.status, said.error["code"]) == (2, "settings_invalid")
    assert "absent.pem" in said.error["message"]
