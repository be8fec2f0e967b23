"""What a hub that has just started says to a person: how to use it from another terminal.

The log says the same to programs. Every line can be copied and works as it is on this machine, once whoever uses a
hub with an administrator has a key in the variable PREGON_KEY.
"""

from __future__ import annotations

import os
import sys

from rich.markup import escape

from pregon.addresses import DEFAULT_HUB, HUB_VARIABLE, KEY_VARIABLE
from pregon.cli.output import console, tell
from pregon.settings import Settings

_TOPIC = "fallecidos"
_BODY = "'Pepe Gómez'"


def greet(addresses: dict[str, str], settings: Settings, *, is_open: bool, link: str | None = None) -> None:
    """Say what to do next; `link` is the secret that lets the first administrator in, if there is none yet."""
    out = console()
    out.print(
        tell(
            "[bold]The hub is running.[/] In another terminal:",
            "[bold]El pregón está en marcha.[/] En otra terminal:",
        )
    )
    for english, spanish, command in _suggestions(addresses, settings, is_open, link):
        # Not wrapped: a link that is broken in two cannot be opened.
        out.print(f"  {tell(english, spanish) + ':':<10} [cyan]{escape(command)}[/]", soft_wrap=True)
    if link and "http" in addresses:
        out.print(
            tell(
                "There is no administrator of the pages yet: the link makes the first one, once. Keep it to yourself.",
                "Todavía no hay administrador de las páginas: el enlace crea el primero, una sola vez. No lo comparta.",
            )
        )
    if not is_open:
        out.print(
            tell(
                f"It asks who you are: present a key, in the variable {KEY_VARIABLE}.",
                f"Pregunta quién es usted: presente una clave, en la variable {KEY_VARIABLE}.",
            )
        )
    out.print(
        tell(
            f"Messages are kept in {escape(settings.data)}. Stop with Ctrl-C.",
            f"Los mensajes se guardan en {escape(settings.data)}. Se detiene con Ctrl-C.",
        )
    )
    sys.stdout.flush()


def greet_services(front: str, back: str) -> None:
    """Say where a broker that runs by itself listens."""
    out = console()
    out.print(tell("[bold]The broker is running.[/]", "[bold]El intermediario está en marcha.[/]"))
    out.print(f"  {tell('clients connect to', 'los clientes se conectan a')}: [cyan]{escape(front)}[/]")
    out.print(f"  {tell('workers connect to', 'los trabajadores se conectan a')}: [cyan]{escape(back)}[/]")
    out.print(tell("Stop with Ctrl-C.", "Se detiene con Ctrl-C."))
    sys.stdout.flush()


def _suggestions(
    addresses: dict[str, str], settings: Settings, is_open: bool, link: str | None
) -> list[tuple[str, str, str]]:
    """What may be done next, in both languages, and the command for it."""
    program = os.path.relpath(sys.argv[0]) if os.sep in sys.argv[0] else sys.argv[0]
    hub = "" if addresses["zmq"] == DEFAULT_HUB else f"{HUB_VARIABLE}={addresses['zmq']} "
    suggested = [
        ("publish", "publicar", f"{hub}{program} publish {_TOPIC} {_BODY}"),
        ("pull", "recibir", f"{hub}{program} pull {_TOPIC}"),
    ]
    if "http" in addresses:
        url = settings.public_url.rstrip("/") or addresses["http"]
        # By a pipe: as an argument of curl the key would be seen by everybody on the machine.
        curl = "curl" if is_open else f"printf 'Authorization: Bearer %s' \"${KEY_VARIABLE}\" | curl -H @-"
        message = f"-H 'Content-Type: text/plain' -d {_BODY}"
        suggested += [
            ("by HTTP", "por HTTP", f"{curl} {message} {url}/v1/topics/{_TOPIC}/messages"),
            ("admin", "admin", f"{url}/admin/setup?link={link}" if link else f"{url}/admin"),
            ("page", "página", f"{url}/docs"),
            ("chat", "chat", f"{url}/chat"),
            ("metrics", "métricas", f"{curl} {url}/metrics"),
        ]
    if "services_front" in addresses:
        suggested.append(("services", "servicios", f"{hub}{program} services top"))
    # Last, because it needs nothing of this hub: who only wants to see what a hub does begins there.
    return [*suggested, ("demo", "demo", f"{program} demo")]
