"""`pregon serve`: run a hub until it is told to stop."""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from pregon.cli.greeting import greet
from pregon.settings import CONFIG_VARIABLE, Settings, load_settings

commands = typer.Typer()

_SWITCH_INTERVAL_S = 0.00005
_FILES_MAX = 65_536

Text = str | None
Flag = bool | None


@commands.command("serve")
def serve(
    data: Annotated[Text, typer.Option("--data", metavar="DIR", help="The data directory")] = None,
    zmq: Annotated[Text, typer.Option("--zmq", metavar="tcp://HOST:PORT", help="The fast lane's address")] = None,
    feed: Annotated[Text, typer.Option("--feed", metavar="tcp://HOST:PORT", help="The live feed's address")] = None,
    ingest: Annotated[Text, typer.Option("--ingest", metavar="tcp://HOST:PORT", help="The ingest's address")] = None,
    http: Annotated[Text, typer.Option("--http", metavar="HOST:PORT", help="The HTTP door's address")] = None,
    services_front: Annotated[
        Text, typer.Option("--services-front", metavar="tcp://HOST:PORT", help="Where clients of services connect")
    ] = None,
    services_back: Annotated[
        Text, typer.Option("--services-back", metavar="tcp://HOST:PORT", help="Where workers connect")
    ] = None,
    services_curve: Annotated[
        Flag, typer.Option("--services-curve/--no-services-curve", help="Let only known CURVE keys use services")
    ] = None,
    public_url: Annotated[
        Text, typer.Option("--public-url", metavar="URL", help="How clients reach the HTTP door, behind a proxy")
    ] = None,
    tls_certificate: Annotated[
        Text, typer.Option("--tls-certificate", metavar="FILE", help="The HTTP door's certificate and chain, PEM")
    ] = None,
    tls_key: Annotated[Text, typer.Option("--tls-key", metavar="FILE", help="Its private key, PEM")] = None,
    tls_client_ca: Annotated[
        Text,
        typer.Option("--tls-client-ca", metavar="FILE", help="Let in only clients with certificates of these, PEM"),
    ] = None,
    require_keys: Annotated[
        Flag, typer.Option("--require-keys/--no-require-keys", help="Refuse producers and subscribers without a key")
    ] = None,
    open_to_all: Annotated[
        Flag, typer.Option("--open-to-all/--no-open-to-all", help="Listen beyond this machine with no administrator")
    ] = None,
    oidc_issuer: Annotated[
        Text, typer.Option("--oidc-issuer", metavar="URL", help="The identity provider whose tokens are accepted")
    ] = None,
    oidc_audience: Annotated[
        Text, typer.Option("--oidc-audience", metavar="NAME", help="The audience that its tokens must name")
    ] = None,
    oidc_keys: Annotated[
        Text, typer.Option("--oidc-keys", metavar="URL|FILE", help="Where its keys are; else the issuer is asked")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A TOML file of settings")] = None,
    auto_create: Annotated[
        Flag, typer.Option("--auto-create/--no-auto-create", help="Make topics and the like on first use")
    ] = None,
    push_allow: Annotated[
        Text, typer.Option("--push-allow", metavar="NETWORKS", help="Let pushes go to these private networks and hosts")
    ] = None,
    notice_url: Annotated[
        Text, typer.Option("--notice-url", metavar="URL", help="Tell this web service when a subscription fails")
    ] = None,
    notice_email: Annotated[
        Text, typer.Option("--notice-email", metavar="ADDRESSES", help="Tell these people by mail, commas between them")
    ] = None,
    log_level: Annotated[Text, typer.Option("--log-level", help="debug, info, warning or error")] = None,
) -> None:
    """Run a hub. Settings come from --config, then PREGON_* variables, then these options."""
    # Each option has the name of its setting, but for the file that has the others.
    options = {name: value for name, value in locals().items() if name != "config"}
    run(load_settings(find_config(config), os.environ, options))


def find_config(named: Path | None) -> Path | None:
    """The file of settings: as the command line says, else as the environment does."""
    return named or (Path(os.environ[CONFIG_VARIABLE]) if os.environ.get(CONFIG_VARIABLE) else None)


def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT; what was taken until then is written."""
    # Imported here, so that every other command starts without the server.
    from pregon.logs import configure_logs
    from pregon.server.hub_server import Server

    configure_logs(settings.log_level)
    allow_many_files()
    stop = listen_for_stop()
    with Server(settings) as server:
        tune_interpreter()
        greet(server.addresses, settings, is_open=server.gate.rules.is_open, link=server.gate.people.make_link())
        stop.wait()


class StopWanted:
    """Whether the process was told to stop.

    A flag and a pipe: a signal's handler runs in the middle of whatever the main thread does, and another one in the
    middle of that, so that a lock, as an Event has, could be waited for by the one who holds it.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)

    def set(self, *_: object) -> None:
        """It was; as a signal's handler."""
        self.is_set = True
        with suppress(BlockingIOError):
            # Full of wishes to stop: whoever waits is woken by the first.
            os.write(self._waker, b"!")

    def wait(self) -> None:
        """Until it is told to."""
        while not self.is_set:
            select.select([self._woken], [], [])


def listen_for_stop() -> StopWanted:
    """Set when the process is told to stop."""
    stop = StopWanted()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop.set)
    return stop


def allow_many_files() -> None:
    """As many connections as the system lets this process have: subscribers must not be blamed for our limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES_MAX if most == resource.RLIM_INFINITY else min(most, _FILES_MAX)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def tune_interpreter() -> None:
    """What suits a process that is a hub and nothing else."""
    # The committer, back from a sync, must not wait the usual 5 ms for the thread that reads requests.
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    # What was imported stays for ever: the garbage collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
