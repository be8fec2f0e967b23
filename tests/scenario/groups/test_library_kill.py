"""A hub that is killed and started again in the middle of a conversation: nothing is lost, nothing is there twice."""

from __future__ import annotations

import signal

import pytest

from pregon import GroupMessage
from pregon.errors import HubUnreachable, QueueFull
from pregon.model.group import STAMP_HEADER

from ..conftest import MakeHub
from ..hub_process import HubProcess, wait_until
from ..wire_cutter import wire_to
from .library import KINDS, Chatter, Judge, join, next_message, open_groups, texts

SAYS = 120


def stamps_in_log(hub: HubProcess, group: str) -> list[str]:
    """Every message of the group's log, by name."""
    with hub.client() as client:
        read = client.read(f"groups.{group}", 1, max=10_000)
        return [message.headers[STAMP_HEADER] for message in read]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_doubled_when_the_hub_is_killed_under_traffic(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    judge = Judge()
    names = ("ana", "luis", "eva")
    with open_groups(kind, hub.url, timeout_ms=60_000) as client:
        groups = [join(client, "design", name=name) for name in names]
        judge.joined(*groups)
        chatters = [Chatter(group, judge, SAYS, (len(names) - 1) * SAYS) for group in groups]
        for share in (0.25, 0.5, 0.75):
            wait_until(lambda share=share: all(len(one.texts) > share * SAYS for one in chatters), "they talk", 60)
            hub.kill()
            hub.start()
        shown = [chatter.end() for chatter in chatters]
        held = {group.number: group.held for group in groups}

    for name, texts_ in zip(names, shown, strict=True):
        said = {f"{other} {number}" for other in names if other != name for number in range(SAYS)}
        assert len(texts_) == len(said)
        assert set(texts_) == said
    assert judge.oracle.finish(held) == []
    stamps = stamps_in_log(hub, "design")
    assert len(stamps) == len(set(stamps)) == 2 * len(names) + len(names) * SAYS
    assert hub.bugs() == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_while_the_hub_is_away_is_sent_when_it_is_back(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with open_groups(kind, hub.url) as client, open_groups(kind, hub.url, timeout_ms=300) as hasty:
        ana = join(client, "design", name="ana")
        luis = join(hasty, "design", name="luis")
        hub.kill()

        with pytest.raises(HubUnreachable):
            luis.send("uno")
        luis.send("dos", wait=False)
        unsent = luis.unsent
        hub.start()

        assert unsent == 2
        assert texts(ana, 2) == ["uno", "dos"]
        wait_until(lambda: luis.unsent == 0, "all is acknowledged")


def test_who_sends_too_much_while_the_hub_is_away_is_told_and_what_was_taken_is_sent(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    with hub.client() as client, hub.client(timeout_ms=300) as hasty:
        ana, luis = client.join("design", name="ana"), hasty.join("design", name="luis")
        hub.kill()
        count = 0
        with pytest.raises(QueueFull):
            while count < 100_000:
                luis.send(f"{count}", wait=False)
                count += 1
        hub.start()

        assert texts(ana, count) == [f"{number}" for number in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_connection_that_is_cut_again_and_again_loses_and_doubles_nothing(make_hub: MakeHub, kind: str) -> None:
    hub = make_hub().start()
    with wire_to(hub.url) as wire, open_groups(kind, wire.url, timeout_ms=60_000) as far, hub.client() as near:
        ana, luis = join(far, "design", name="ana"), near.join("design", name="luis")
        for number in range(300):
            ana.send(f"a{number}", wait=False)
            luis.send(f"l{number}", wait=False)
            if number % 60 == 30:
                wire.cut()
        ana.flush()
        luis.flush()

        assert texts(luis, 300) == [f"a{number}" for number in range(300)]
        assert texts(ana, 300) == [f"l{number}" for number in range(300)]
    stamps = stamps_in_log(hub, "design")
    assert len(stamps) == len(set(stamps)) == 604


def test_a_program_that_dies_comes_back_with_the_state_that_it_kept(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    with hub.client() as client:
        ana = client.join("design", name="ana")
        luis = client.join("design", name="luis")
        for number in range(10):
            ana.send(f"{number}")
        seen = texts(luis, 4)
        hub.kill()
        luis.send("dicho antes de morir", wait=False)
        state = luis.state()
        luis.close()
        hub.start()

        again = client.join("design", state=state)

        assert seen + texts(again, 6) == [f"{number}" for number in range(10)]
        assert next_message(ana).text == "dicho antes de morir"
        assert again.number == luis.number


def test_a_hub_that_stands_still_for_a_while_holds_up_only_itself(make_hub: MakeHub) -> None:
    hub = make_hub().start()
    with hub.client() as client:
        ana, luis = client.join("design", name="ana"), client.join("design", name="luis")
        hub.running.send_signal(signal.SIGSTOP)
        # It returns while the hub stands still, or the hub would stand still for ever.
        stamp = ana.send("despierta", wait=False)
        hub.running.send_signal(signal.SIGCONT)

        shown = next_message(luis)

    assert isinstance(shown, GroupMessage)
    assert shown.stamp == stamp
