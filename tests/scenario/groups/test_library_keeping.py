"""Groups by the library on hubs that keep little, and on hubs that ask for keys."""

from __future__ import annotations

from typing import Any

import pytest

from pregon import Client, GroupMessage, MessagesMissed
from pregon.errors import Unauthorized

from ..conftest import MakeHub
from ..hub_process import wait_until
from .library import KINDS, join, messages, next_message, open_groups


def messages_until(group: Any, text: str) -> list[GroupMessage]:
    """The messages that a member is shown, up to one that says this. The log may have kept none before it."""
    shown = [next_message(group)]
    while shown[-1].text != text:
        shown.append(next_message(group))
    return shown


@pytest.mark.parametrize("kind", KINDS)
def test_who_comes_back_too_late_is_told_what_is_lost_and_shown_the_rest(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with open_groups(kind, hub.url) as client, hub.client() as near:
        ana, luis = near.join("design", name="ana"), join(client, "design", name="luis")
        state = luis.state()
        luis.close()
        for number in range(2_000):
            ana.send(f"{number}", wait=False)
        ana.flush()
        near.update("topic", "groups.design", retention={"bytes_max": 20_000})
        wait_until(lambda: near.show("topic", "groups.design")["bytes"] <= 20_000, "most of it is gone", 60)
        tail_seq = near.read("groups.design", 1, max=1).tail_seq

        again = join(client, "design", state=state)
        missed = again.poll(30)
        ana.send("y ahora")
        *shown, _ = messages_until(again, "y ahora")
        ana.send("y después")
        live = next_message(again)
        again.send("gracias", answers=live)

        assert isinstance(missed, MessagesMissed) and missed.last == tail_seq - 1
        assert [one.text for one in shown] == [f"{number}" for number in range(2_000 - len(shown), 2_000)]
        assert all(one.is_history for one in shown)
        assert (live.text, live.is_history) == ("y después", False)
        answer = next_message(ana)
        assert isinstance(answer, GroupMessage) and answer.answers == live.stamp


@pytest.mark.parametrize("kind", KINDS)
def test_a_hub_that_asks_for_keys_has_members_who_present_one(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub(require_keys="true").start()
    with hub.client() as anybody:
        key = anybody.create("key", kind="token", owner="admin", scopes=["admin"])["secret"]

    with open_groups(kind, hub.url, key=key) as client, Client(hub.url, key="") as nobody:
        ana, luis = join(client, "design", name="ana"), join(client, "design", name="luis")
        ana.send("con llave")

        assert [one.text for one in messages(luis, 1)] == ["con llave"]
        with pytest.raises(Unauthorized):
            nobody.join("design", name="eva")
        with pytest.raises(Unauthorized):
            nobody.join("design", token=ana.token)
