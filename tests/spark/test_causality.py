"""Every delivery of every group is checked, against the oracle that knows happened-before by its definition."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from random import Random

from pyspark.sql import Row, SparkSession

from pregon.causal.encoding import encode_control
from pregon.causal.stamps import Stamp, decode_stamp
from pregon.causal.vector import VectorMessage, encode_vector
from pregon.spark.pipelines.causality import causality, unreported
from pregon.spark.pipelines.causality_summary import causality_summary
from pregon.spark.pipelines.group_messages import group_messages
from pregon.spark.schemas import GROUP_DELIVERIES, MESSAGES

from .group_histories import TEN, History, delivery_row, message_row, table, tables, talk

SEEDS = range(12)


def by_member(rows: list[Row]) -> dict[tuple[str, int], list[Row]]:
    """What was found at each member, in the order in which it was shown."""
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda one: one.delivered_at):
        found[row.group, row.member].append(row)
    return found


def swapped(seed: int) -> History:
    """A history of which one member says that it was shown two messages the other way round."""
    history, chance = talk(f"swapped-{seed}", seed), Random(seed)
    stamps = history.shown[chance.choice([*history.shown])]
    one, other = sorted(chance.sample(range(len(stamps)), 2))
    stamps[one], stamps[other] = stamps[other], stamps[one]
    return history


def test_what_members_were_shown_in_causal_order_is_in_order_and_everything_else_is_named_as_the_oracle_does(
    spark: SparkSession,
) -> None:
    right, wrong = [talk(f"right-{seed}", seed) for seed in SEEDS], [swapped(seed) for seed in SEEDS]
    messages, deliveries = tables(spark, [*right, *wrong])

    rows = causality(group_messages(messages), deliveries).collect()

    found = by_member(rows)
    assert {group for group, _ in found} <= {one.group for one in wrong}
    judged = 0
    for history in wrong:
        for member in history.shown:
            named, expected = found.get((history.group, member), []), history.judge(member)
            judged += bool(expected)
            assert bool(named) == bool(expected), (history.group, member)
            assert [row.message for row in named[:1]] == [str(one.stamp) for one in expected[:1]]
            assert {row.message for row in named} <= {str(one.stamp) for one in expected}
            for row in named:
                assert history.oracle.is_before(decode_stamp(row.missing), decode_stamp(row.message))
                assert row.kind == ("fifo" if row.missing.split(":")[0] == row.message.split(":")[0] else "causal")
                assert row.name == f"member {member}"
    # Two concurrent messages may be swapped with nobody harmed, but not always.
    assert judged >= len(SEEDS) // 2
    assert {row.kind for row in rows} == {"causal", "fifo"}


def test_a_message_that_a_member_does_not_report_is_told_and_nobody_is_accused(spark: SparkSession) -> None:
    histories = [talk(f"dropped-{seed}", seed) for seed in SEEDS]
    dropped = {}
    for history in histories:
        stamps = history.shown[2]
        place = next(place for place in range(len(stamps) // 2, len(stamps)) if stamps[place].number > 1)
        dropped[history.group, 2] = str(stamps.pop(place))
    messages, deliveries = tables(spark, histories)
    said = group_messages(messages).cache()

    accused, told = causality(said, deliveries).collect(), unreported(said, deliveries).collect()

    assert accused == []
    assert {(row.group, row.member): row.missing for row in told} == dropped
    assert {row.kind for row in told} == {"unreported"}
    assert len(told) == len(histories)


def test_only_what_the_reports_prove_is_a_violation(spark: SparkSession) -> None:
    ask, answer, later = Stamp(2, 1), Stamp(3, 1), Stamp(3, 2)
    messages, deliveries = [], []

    def group(name: str, *shown: tuple[Stamp, tuple[int, int], float]) -> None:
        messages.append(message_row(name, 1, Stamp(1, 1), (), TEN, "joining"))
        messages.append(message_row(name, 2, ask, (), TEN + timedelta(seconds=1)))
        messages.append(message_row(name, 3, answer, [ask], TEN + timedelta(seconds=2)))
        messages.append(message_row(name, 4, later, (), TEN + timedelta(seconds=3)))
        for stamp, place, second in shown:
            deliveries.append(delivery_row(name, 4, stamp, place, TEN + timedelta(seconds=second)))

    group("too early", (answer, (1, 0), 5), (ask, (1, 1), 6))
    group("at one instant", (answer, (1, 0), 5), (ask, (1, 1), 5))
    group("its own first", (later, (1, 0), 5), (answer, (2, 0), 6), (ask, (3, 0), 7))
    group("reports overtake each other", (answer, (1, 0), 6), (ask, (2, 0), 5))
    group("the clock was set back", (ask, (1, 0), 6), (answer, (1, 1), 5))
    group("reported twice", (ask, (1, 0), 5), (answer, (1, 1), 6), (ask, (2, 0), 5), (answer, (2, 1), 6))
    group("shown twice", (ask, (1, 0), 5), (answer, (1, 1), 6), (ask, (2, 0), 7))
    group("came late", (answer, (1, 0), 5), (later, (1, 1), 6))
    group("an earlier group of that name", (answer, (1, 0), -60), (ask, (1, 1), -50), (ask, (2, 0), 5))
    group("unknown", (Stamp(9, 2), (1, 0), 5), (Stamp(9, 1), (1, 1), 6))
    group("no name of a message", (ask, (1, 0), 5))
    deliveries.append((1, 1, "no name of a message", 4, "member 4", "9223372036854775808:1", TEN, TEN, ""))

    rows = causality(
        group_messages(table(spark, MESSAGES, messages)), table(spark, GROUP_DELIVERIES, deliveries)
    ).collect()

    assert {(row.group, row.message, row.missing, row.kind) for row in rows} == {
        ("too early", "3:1", "2:1", "causal"),
        ("at one instant", "3:1", "2:1", "causal"),
        ("its own first", "3:1", "2:1", "causal"),
        ("its own first", "3:2", "3:1", "fifo"),
        ("shown twice", "2:1", "", "duplicate"),
        ("unknown", "9:2", "9:1", "fifo"),
    }
    assert len(rows) == 6
    assert {row.delivered_at.second for row in rows if row.kind == "duplicate"} == {7}


def test_the_summary_counts_what_was_said_shown_held_back_and_wrong(spark: SparkSession) -> None:
    history, right = swapped(3), talk("right", 4, members=6, messages=60)
    messages, deliveries = tables(spark, [history, right])
    said = group_messages(messages).cache()

    wrong = causality(said, deliveries).collect()
    rows = {row.group: row for row in causality_summary(said, deliveries).collect()}

    assert len(wrong) == rows[history.group].violations > 0
    assert rows["right"].violations == rows["right"].duplicates == rows["right"].unreported == 0
    assert (rows["right"].messages, rows["right"].members, rows["right"].deliveries) == (60, 6, 60 * 5)
    assert rows["right"].held_back == len(right.waited) > 0
    assert rows["right"].held_back_share == len(right.waited) / 300
    named = [len(one.after) for one in right.sent]
    assert (rows["right"].after_mean, rows["right"].after_max) == (sum(named) / 60, max(named))
    control = [len(encode_control(one.stamp, one.after)) for one in right.sent]
    assert rows["right"].control_bytes == sum(control) / 60


def test_bytes_of_control_information_are_those_of_the_encoding(spark: SparkSession) -> None:
    chance = Random(7)
    sent = [(Stamp(1, 1), ())]
    for _ in range(600):
        sender, most = chance.choice((1, 5, 127, 128, 300, 2**40)), chance.choice((1, 130, 20_000, 2**50))
        highest = chance.choice((3, 6, 40, 300, 5_000, 2**45))
        count = chance.choice((0, 1, 2, 3, 30, 300))
        who = sorted({chance.randint(1, highest) for _ in range(count)} - {sender})
        sent.append((Stamp(sender, chance.randint(1, most)), tuple(Stamp(one, chance.randint(1, most)) for one in who)))
    rows = [
        message_row("g", seq, stamp, after, TEN + timedelta(seconds=seq)) for seq, (stamp, after) in enumerate(sent)
    ]

    found = group_messages(table(spark, MESSAGES, rows)).collect()

    assert {row.seq: row.control_bytes for row in found} == {
        seq: len(encode_control(stamp, after)) for seq, (stamp, after) in enumerate(sent)
    }


def test_bytes_of_a_vector_clock_are_those_of_its_encoding_when_a_sender_has_seen_all(spark: SparkSession) -> None:
    clock, rows, expected = [0] * 40, [], []
    # The log begins in the middle: what was before was removed, and the second member's numbers are long already.
    clock[1] = 16_380
    for seq in range(400):
        member = 2 if seq % 3 else 1 + seq % (1 + seq // 10)
        clock[member - 1] += 1
        rows.append(message_row("g", seq, Stamp(member, clock[member - 1]), (), TEN + timedelta(seconds=seq)))
        known = max(int(row[5]["group-stamp"].split(":")[0]) for row in rows)  # type: ignore[index]
        seen = clock if seq else [clock[0], 0, *clock[2:]]
        expected.append(len(encode_vector(VectorMessage(member, tuple(seen[:known])))))

    found = group_messages(table(spark, MESSAGES, rows)).orderBy("seq").collect()

    assert [row.vector_bytes for row in found] == expected


def test_messages_of_other_topics_and_without_a_name_are_no_messages_of_groups(spark: SparkSession) -> None:
    rows = [list(message_row("g", seq, Stamp(2, seq), [Stamp(1, 3)], TEN)) for seq in (1, 2, 3, 4, 5)]
    rows[1][0] = "orders"
    rows[2][5] = {"group-stamp": "2:x"}
    rows[3][5] = None
    rows[4][5] = {"group-stamp": "2:5", "group-after": "1:3 nonsense 0:1 9223372036854775808:1", "group-answers": "1:3"}

    found = group_messages(table(spark, MESSAGES, [tuple(row) for row in rows])).orderBy("seq").collect()

    assert [(row.group, row.stamp, row.sender, row.number) for row in found] == [("g", "2:1", 2, 1), ("g", "2:5", 2, 5)]
    assert [row.after for row in found] == [["1:3"], ["1:3"]]
    assert [(row.kind, row.answers, row.name) for row in found] == [
        ("message", "", "member 2"),
        ("message", "1:3", "member 2"),
    ]
