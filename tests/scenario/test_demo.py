"""`pregon demo`: it plays to the end and adds up, says so when it does not, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from pregon.cli import app
from pregon.demo.bodies import IMM, Ledger, SignedBody
from pregon.demo.doors import TOPIC, Doors
from pregon.demo.proof import Evidence, find_doubts
from pregon.demo.web_service import Answer, WebService
from pregon.errors import HubStopping
from pregon.security.signatures import encode_secret, new_secret, sign

from .command_line import Said
from .hub_process import COMMAND, HubProcess, clean_environment, wait_until

_DEMO_S_MAX = 200


def play(tmp_path: Path, *options: str, **variables: str) -> Said:
    """Run the demo to its end, its directory below the test's own."""
    ended = subprocess.run(
        [*COMMAND, "demo", "--quick", *options],
        capture_output=True,
        env=clean_environment(TMPDIR=str(tmp_path), **variables),
        timeout=_DEMO_S_MAX,
        check=False,
    )
    return Said(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def story_of(out: str) -> list[str]:
    """The lines of the story that the demo shows."""
    return re.findall(r"^ +\d\d:\d\d:\d\d\.\d{6} +(.*?) *$", out, re.MULTILINE)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """The demo, played once for the whole module by a user with a hub of their own; nothing of it is left behind."""
    directory = tmp_path_factory.mktemp("demo")
    theirs = {"require_keys": "true", "http": "127.0.0.1:1", "hub": "tcp://127.0.0.1:1", "key": "pgn_of_another_hub"}
    said = play(directory, **{f"PREGON_{name.upper()}": value for name, value in theirs.items()})
    assert list(directory.iterdir()) == []
    return said


def test_the_demo_plays_to_its_end_and_adds_up(played: Said) -> None:
    row = r"^(IMM|BPS|CORTE|CGN) +(\d+) +(\d+) +0 +0 +0 +(\d+) +(\d+)$"

    accounts = re.findall(row, played.out, re.MULTILINE)

    assert (played.status, played.err) == (0, ""), played.out + played.err
    assert "exactly once" in played.out
    assert [name for name, *_ in accounts] == ["IMM", "BPS", "CORTE", "CGN"]
    assert all(int(accepted) == int(acked) + int(filtered) for _, accepted, acked, filtered, _ in accounts)
    assert all(acked == has for _, _, acked, _, has in accounts)
    assert int(accounts[2][3]) > 0, "CORTE's filter let everything pass"


def test_the_demo_shows_the_story_of_a_message_that_failed_and_was_delivered_later(played: Said) -> None:
    kinds = {"accepted", "failed", "delivered"}

    story = [line.split() for line in story_of(played.out)]

    told = [kind for who, kind, *_ in story if who in ("DGREC", "BPS")]
    assert kinds <= set(told), played.out
    assert (told[0], told[-1]) == ("accepted", "delivered")
    assert told.count("delivered") == 1


def test_the_demo_speaks_spanish_when_it_is_told_to(tmp_path: Path) -> None:
    expected = ["Registro Civil", "se cae", "ha muerto", "La historia de una", "Las cuentas del pregón", "entregado"]

    said = play(tmp_path, "--language", "es", PREGON_LANG="en")

    assert said.status == 0, said.out + said.err
    assert [text for text in expected if text not in said.out] == []
    assert "exactly once" not in said.out


@pytest.mark.parametrize("options", [("--language", "pt"), ("--pace", "0"), ("--pace", "1000")])
def test_an_option_that_makes_no_sense_is_refused(tmp_path: Path, options: tuple[str, ...]) -> None:
    before = list(tmp_path.iterdir())

    said = play(tmp_path, *options)

    assert said.status == 2
    assert options[0] in said.err
    assert list(tmp_path.iterdir()) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    environment = clean_environment(TMPDIR=str(tmp_path), PYTHONUNBUFFERED="1")
    process = subprocess.Popen(
        [*COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
    )
    assert process.stdout is not None
    while b"DGREC" not in (line := process.stdout.readline()):
        assert line, "the demo ended by itself"
    (directory,) = tmp_path.iterdir()
    assert hubs_of(directory)

    process.send_signal(number)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130, err.decode()
    assert "Traceback" not in err.decode()
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: not hubs_of(directory), "the hub is gone")


def test_a_reader_who_leaves_early_ends_the_demo(tmp_path: Path) -> None:
    environment = clean_environment(TMPDIR=str(tmp_path), PYTHONUNBUFFERED="1")
    process = subprocess.Popen(
        [*COMMAND, "demo", "--quick"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()

    process.stdout.close()
    err = process.stderr.read()

    assert (process.wait(60), err) == (0, b"")
    process.stderr.close()
    assert list(tmp_path.iterdir()) == []


def test_a_message_that_a_body_never_got_is_told_and_the_exit_status_is_1(
    monkeypatch: pytest.MonkeyPatch, ledger_that_loses_imms_fifth: None
) -> None:
    monkeypatch.setenv("PREGON_LANG", "en")

    result = CliRunner().invoke(app, ["demo", "--quick"])

    assert result.exit_code == 1, result.output
    assert "IMM never got 5\n" in result.output
    assert "It does not add up" in result.output
    assert "exactly once" not in result.output


@pytest.fixture
def ledger_that_loses_imms_fifth(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that answers that it has a message, and forgets it: only the proof can notice."""
    honest = Ledger.take

    def take(self: Ledger, message_id: str, seq: int, ci: str) -> None:
        if not (seq == 5 and message_id.startswith("urn:")):
            honest(self, message_id, seq, ci)

    monkeypatch.setattr(Ledger, "take", take)


def test_a_message_that_is_pushed_after_bps_acknowledged_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SignedBody.pull_one

    def pull_and_replay(self: SignedBody, doors: Doors, name: str) -> int:
        seq = honest(self, doors, name)
        doors.create(f"topics/{TOPIC}/subscriptions/{name}/replay", from_seq=seq)
        return seq

    monkeypatch.setattr(SignedBody, "pull_one", pull_and_replay)
    monkeypatch.setenv("PREGON_LANG", "en")

    result = CliRunner().invoke(app, ["demo", "--quick"])

    assert result.exit_code == 1, result.output
    assert re.search(r"BPS was pushed \d+, which it had pulled and acknowledged", result.output)


def test_a_hub_that_does_not_start_ends_the_demo_with_what_it_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no such module' >&2; exit 1\n")
    broken.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(broken))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    result = CliRunner().invoke(app, ["demo", "--quick"])

    assert isinstance(result.exception, HubStopping)
    assert str(result.exception).endswith("the end of its log: no such module")
    assert list(tmp_path.iterdir()) == [broken]


def test_a_hub_that_starts_leads_to_the_demo(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path / "data")
    with subprocess.Popen(
        [*COMMAND, "serve", *hub.options], stdout=subprocess.PIPE, env=clean_environment()
    ) as process:
        assert process.stdout is not None
        said = iter(process.stdout.readline, b"")

        suggested = next((line for line in said if line.strip().startswith(b"demo:")), b"")

        process.terminate()
        assert suggested.split()[-1] == b"demo"


# The proof can fail.

CIS = {1: "a", 2: "b", 3: "c"}
ACCOUNT = {"accepted": 3, "acknowledged": 3, "pending": 0, "parked": 0, "expired": 0, "filtered": 0}
GOOD = Evidence(name=IMM, expected=[1, 2, 3], seqs=[1, 2, 3], cis=CIS, account=ACCOUNT)


def test_what_adds_up_leaves_no_doubt() -> None:
    filtered = {**ACCOUNT, "acknowledged": 2, "filtered": 1}
    choosy = Evidence(name="CORTE", expected=[1, 3], seqs=[1, 3], cis={1: "a", 3: "c"}, account=filtered, repeated=2)

    doubts = find_doubts([1, 2, 3], CIS, [GOOD, choosy])

    assert doubts == []


@pytest.mark.parametrize(
    ("evidence", "doubt"),
    [
        (replace(GOOD, seqs=[1, 3]), "IMM never got 2"),
        (replace(GOOD, seqs=[1, 2, 3, 4]), "IMM got 4 in vain"),
        (replace(GOOD, seqs=[1, 3, 2]), "IMM got them out of order"),
        (replace(GOOD, seqs=[1, 2, 2, 3]), "IMM got a number under two ids"),
        (replace(GOOD, cis={**CIS, 2: "x"}), "IMM got others in 2"),
        (replace(GOOD, forged=1), "IMM refused 1 signatures"),
        (replace(GOOD, pulled=frozenset({2}), pushed=frozenset({2, 3})), "IMM was pushed 2, which it had pulled"),
        (replace(GOOD, account={**ACCOUNT, "pending": 1}), "the hub counts 1 pending for IMM, not 0"),
        (replace(GOOD, account={**ACCOUNT, "acknowledged": 2}), "the hub counts 2 acknowledged for IMM, not 3"),
        (replace(GOOD, account={**ACCOUNT, "filtered": 3}), "the hub counts 3 filtered for IMM, not 0"),
    ],
)
def test_each_thing_that_does_not_add_up_is_told(evidence: Evidence, doubt: str) -> None:
    published = [1, 2, 3]

    (found,) = find_doubts(published, CIS, [evidence])

    assert found.english.startswith(doubt)
    assert found.spanish != found.english


def test_numbers_with_a_gap_are_told() -> None:
    published = [1, 3]

    doubts = find_doubts(published, CIS, [])

    assert [doubt.english for doubt in doubts] == ["the numbers of what DGREC published are not 1, 2, 3 … without gaps"]


# The web services of the demo.


@pytest.fixture
def service() -> Iterator[WebService]:
    """A web service that says what it was sent."""
    service = WebService(lambda headers, body: Answer(200, body))
    yield service
    service.close()


def test_a_web_service_that_falls_cuts_its_connections_and_comes_back_at_the_same_address(service: WebService) -> None:
    service.come_up()
    with httpx.Client(trust_env=False) as http:
        assert http.post(service.url, content=b"before").content == b"before"

        service.fall()

        with pytest.raises(httpx.TransportError):
            http.post(service.url, content=b"kept connection")
        with pytest.raises(httpx.ConnectError):
            http.post(service.url, content=b"new connection")
        service.come_up()
        assert http.post(service.url, content=b"after").content == b"after"


@pytest.mark.parametrize("spoilt", ["webhook-signature", "webhook-timestamp", "webhook-id", "body"])
def test_a_body_refuses_what_is_signed_wrongly(spoilt: str) -> None:
    secret, body = new_secret(), SignedBody("pregon-seq")
    body.learn(encode_secret(secret))
    noticia = b"<noticia/>"
    good = {
        "webhook-id": "fallecidos:1",
        "webhook-timestamp": "1794783400",
        "webhook-signature": "v1,other " + sign([secret], "fallecidos:1", 1794783400, noticia),
        "pregon-seq": "1",
    }
    bad = {name: value for name, value in good.items() if name != spoilt}

    statuses = post_both(body, (good, noticia), (bad, noticia + b" " if spoilt == "body" else noticia))

    assert statuses == (204, 401)
    assert (len(body.ledger), body.verified, body.forged) == (1, 1, 1)


def post_both(body: SignedBody, *requests: tuple[Mapping[str, str], bytes]) -> tuple[int, ...]:
    """The statuses with which a body's web service answers, one after another."""
    body.service.come_up()
    try:
        with httpx.Client(trust_env=False) as http:
            return tuple(
                http.post(body.service.url, content=content, headers=headers).status_code
                for headers, content in requests
            )
    finally:
        body.service.close()


def hubs_of(directory: Path) -> list[int]:
    """The processes that have a directory among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                arguments = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(directory).encode() in arguments:
                found.append(int(entry.name))
    return found
