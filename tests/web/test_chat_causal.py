"""What the page calls concurrent is what the hub's own history calls so."""

from __future__ import annotations

import random

from scenario.hub_process import HubProcess

from pregon.causal.history import History
from pregon.causal.member import Member
from pregon.causal.message import CausalMessage

from .conftest import OpenPage

_COMPARE = """async ([log, messagesMax]) => {
  const { History } = await import("/chat/causal.js");
  const history = new History(messagesMax);
  for (const [stamp, after] of log) history.add(stamp, after);
  const stamps = log.map(([stamp]) => stamp);
  return {
    relations: stamps.map((one) => stamps.map((other) => history.relation(one, other))),
    concurrent: stamps.map((one) => history.concurrentWith(one)),
  };
}"""


def make_log(seed: int, members: int, messages: int) -> list[CausalMessage]:
    """What members say who hear of each other late, or not at all, in the order in which it was said."""
    chance = random.Random(seed)
    everybody = {number: Member(number) for number in range(1, members + 1)}
    unheard: dict[int, list[CausalMessage]] = {number: [] for number in everybody}
    log: list[CausalMessage] = []
    while len(log) < messages:
        number = chance.choice(list(everybody))
        member = everybody[number]
        for message in unheard[number][: chance.randrange(len(unheard[number]) + 1)]:
            member.receive(message)
            unheard[number].remove(message)
        said = member.broadcast()
        log.append(said)
        for other in unheard:
            if other != number:
                unheard[other].append(said)
    return log


def test_the_page_and_the_hub_agree_on_random_histories(hub: HubProcess, open_page: OpenPage) -> None:
    page = open_page("reader").page
    page.goto(f"http://{hub.addresses.http}/chat")
    kinds: set[str] = set()

    for seed, members, messages, messages_max in [(1, 2, 20, 99), (2, 3, 40, 99), (3, 6, 60, 25), (4, 12, 60, 99)]:
        log = make_log(seed, members, messages)
        history = History(messages_max)
        for message in log:
            history.add(message)
        sent = [[str(message.stamp), [str(stamp) for stamp in message.after]] for message in log]
        found = page.evaluate(_COMPARE, [sent, messages_max])
        stamps = [message.stamp for message in log]
        relations = [[history.relation(one, other).value for other in stamps] for one in stamps]

        assert found["relations"] == relations
        assert found["concurrent"] == [[str(other) for other in history.concurrent_with(one)] for one in stamps]
        kinds.update(*relations)

    assert kinds == {"same", "before", "after", "concurrent", "forgotten"}
