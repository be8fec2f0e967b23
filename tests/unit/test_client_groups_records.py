"""Control information out of the headers of a log: a usual batch all at once, an unusual one message by message."""

from __future__ import annotations

from pregon.causal.stamps import Stamp
from pregon.client.calls import Pulled
from pregon.client.groups.records import own_headers, read_records
from pregon.model.batch import Packing, encode, stamp
from pregon.model.message import Outgoing
from pregon.wire import commands as c


def pulled(*headers: dict[str, str]) -> Pulled:
    """An answer with one batch of messages that have these headers."""
    packing = Packing()
    for number, one in enumerate(headers):
        packing.add(Outgoing(b"x", f"{number}", "ana", "text/plain", one), 1, f"{number}")
    told = c.Messages(base_seqs=[7], counts=[len(headers)], head_seq=6 + len(headers), tail_seq=1)
    return Pulled("groups.design", told, (encode(stamp(packing.pack(""), "pregon.groups", 5)),))


def usual(name: str, after: str = "", kind: str = "message") -> dict[str, str]:
    return {"group-kind": kind, "group-stamp": name, "group-after": after}


def read(*headers: dict[str, str]) -> list[tuple[Stamp, tuple[Stamp, ...], str, int]]:
    found = read_records(pulled(*headers), 3, 99, 12)
    return [(one.stamp, one.after, one.body.kind, one.body.message.seq) for one in found]


def test_a_usual_batch_and_an_unusual_one_say_the_same() -> None:
    together = read(usual("2:1", "1:1", "joined"), usual("3:4", "2:1 5:9"), usual("4:1", "2:1 5:9"))
    apart = read(usual("2:1", "1:1", "joined"), {"color": "rojo", **usual("3:4", "2:1 5:9")}, usual("4:1", "2:1 5:9"))

    assert together == apart
    assert together[1] == (Stamp(3, 4), (Stamp(2, 1), Stamp(5, 9)), "message", 8)
    assert all(isinstance(one, Stamp) for _, after, _, _ in together for one in after)


def test_what_came_how_and_when_goes_with_each() -> None:
    (one,) = read_records(pulled(usual("2:1")), 3, 99, 12)

    assert (one.body.path, one.body.received_us, one.body.tick) == (3, 99, 12)
    assert (one.body.message.key, one.body.message.body) == ("ana", b"x")


def test_a_record_that_is_none_is_left_out_and_the_others_are_read() -> None:
    wrong = [
        usual("nonsense"),
        usual("2:0"),
        usual("2:1", "2:5"),
        usual("2:1", "5:1 4:1"),
        usual("2:1", "1:1  3:1"),
        usual("2:1", f"1:{2**63}"),
        {"color": "rojo"},
    ]
    for one in wrong:
        found = read(usual("3:1", "1:1"), one, usual("3:2"))

        assert [name for name, *_ in found] == [Stamp(3, 1), Stamp(3, 2)], one


def test_only_the_headers_that_the_sender_gave_are_its_own() -> None:
    plain, answer, coloured = read_records(
        pulled(
            usual("2:1"),
            {**usual("2:2"), "group-answers": "1:1"},
            {"color": "rojo", **usual("2:3")},
        ),
        0,
        0,
    )

    assert own_headers(plain.body.message) == own_headers(answer.body.message) == {}
    assert own_headers(coloured.body.message) == {"color": "rojo"}
