"""The doctor's look at what is pushed: subscribers whose pushes fail, are stopped, or are not signed.

It asks the hub, with the key in the environment, and says nothing where there is nothing to push or nobody may look.

Promises:
- So many questions and no more are asked, however many subscribers there are.
- Failing, and stopped by the hub, is wrong. Not signed, and stopped by somebody, is only told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pregon.cli.connect import connect
from pregon.cli.finding import Finding
from pregon.cli.output import tell
from pregon.clock import format_us, wall_us
from pregon.errors import Forbidden, NotFound, PregonError, Unauthorized
from pregon.limits import LIST_ROWS_MAX
from pregon.model.catalog import PUSH, SOAP

if TYPE_CHECKING:
    from pregon.client import Client

_SUBSCRIBERS_MAX = 100
_SUBSCRIPTIONS_MAX = 20
"""Of each subscriber."""
_NAMED_MAX = 20
"""What is named one by one; the others are only counted."""
_TIMEOUT_MS = 5_000


def check_push(hub: str | None) -> Iterator[Finding]:
    """Every check of this kind."""
    try:
        with connect(hub, timeout_ms=_TIMEOUT_MS) as client:
            found = client.list("subscriber", max=LIST_ROWS_MAX)
            pushed = [one for one in found if one["mode"] == PUSH][:_SUBSCRIBERS_MAX]
            if pushed:
                yield _check_failing(client, pushed)
                yield _check_stopped(pushed)
                yield _check_signed(client, pushed)
    except (Unauthorized, Forbidden):
        found_nothing = tell("not looked at", "no se miró")
        advice = tell(
            "a token with the scope admin in PREGON_KEY lets the doctor look at what is pushed",
            "una clave con el alcance admin en PREGON_KEY deja ver lo que se envía",
        )
        yield Finding("push", True, found_nothing, advice)
    except PregonError as error:
        yield Finding("push", False, str(error))


def _check_failing(client: Client, pushed: list[dict[str, Any]]) -> Finding:
    failing: list[str] = []
    count = 0
    for one in pushed:
        for subscription in client.list("subscription", names=["", one["name"]], max=_SUBSCRIPTIONS_MAX):
            count += 1
            try:
                state = client.show("push", subscription["topic"], one["name"])
            except NotFound:
                continue  # Deleted since it was listed.
            if one["enabled"] and not state.get("paused") and state["failing_since_us"]:
                since = format_us(state["failing_since_us"])
                failing.append(f"{subscription['topic']} {one['name']} ({since}: {state['last_failure']})")
    if not failing:
        found = tell(f"none of {count} subscriptions fails", f"ninguna de {count} suscripciones falla")
        return Finding("pushes", True, found)
    advice = tell(
        "look at these web services: the hub goes on trying; `pregon subscription push TOPIC SUBSCRIBER` says when",
        "mire esos servicios web: el servidor insiste; `pregon subscription push TOPIC SUBSCRIBER` dice cuándo",
    )
    return Finding("pushes", False, tell("failing: ", "fallan: ") + _listed(failing), advice)


def _check_stopped(pushed: list[dict[str, Any]]) -> Finding:
    stopped = [one for one in pushed if not one["enabled"]]
    by_hub = [f"{one['name']} ({one['disabled_reason']})" for one in stopped if one["disabled_reason"]]
    by_people = [one["name"] for one in stopped if not one["disabled_reason"]]
    if by_hub:
        advice = tell(
            "what is for them waits; when their web services are back, `pregon subscriber update NAME --enable`",
            "sus novedades esperan; cuando sus servicios vuelvan, `pregon subscriber update NAME --enable`",
        )
        return Finding("stopped", False, tell("by the hub: ", "por el servidor: ") + _listed(by_hub), advice)
    if by_people:
        return Finding("stopped", True, tell("on purpose: ", "a propósito: ") + _listed(by_people))
    return Finding("stopped", True, tell("none", "ninguno"))


def _check_signed(client: Client, pushed: list[dict[str, Any]]) -> Finding:
    now_us = wall_us()
    bare: list[str] = []
    # SOAP has no place for a signature.
    asked = [one["name"] for one in pushed if one["format"] != SOAP]
    for name in asked:
        try:
            secrets = client.list("secret", names=[name])
        except NotFound:
            continue  # Deleted since it was listed.
        if not any(secret["expires_us"] is None or secret["expires_us"] > now_us for secret in secrets):
            bare.append(name)
    if not bare:
        return Finding("signatures", True, tell(f"{len(asked)} subscribers", f"{len(asked)} suscriptores"))
    advice = tell(
        "they cannot tell our pushes from others': give them a secret with `pregon subscriber secret create NAME`",
        "no pueden distinguir nuestros envíos de otros: déles un secreto con `pregon subscriber secret create NAME`",
    )
    return Finding("signatures", True, tell("not signed: ", "sin firma: ") + _listed(bare), advice)


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED_MAX
    return ", ".join(names[:_NAMED_MAX] + ([tell(f"and {more} more", f"y {more} más")] if more > 0 else []))
