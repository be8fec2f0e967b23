"""Traces as they are told, searched for and taken along."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pregon.edges.admin.desk import AdminDesk
from pregon.edges.admin.exchange import AdminRequest
from pregon.edges.admin.trace_export import COLUMNS, GROUP_ROWS, write_csv, write_parquet
from pregon.edges.admin.trace_search import TraceSearch
from pregon.edges.admin.trace_sentences import KIND_WORDS, LIST_SENTENCES, LOOKS, STORY_SENTENCES, tell, tell_story
from pregon.edges.admin.visit import Visit
from pregon.edges.admin.words import words_of
from pregon.errors import BadRequest
from pregon.model.trace import (
    ACCEPTED,
    ACKNOWLEDGED,
    DEFERRED,
    DELIVERED,
    FAILED,
    KINDS,
    PARKED,
    Trace,
    TracePage,
    TraceQuery,
)
from pregon.store.trace_table import SCHEMA_TRACES

ES, EN = words_of("es"), words_of("en")
MONTEVIDEO = ZoneInfo("America/Montevideo")
AT_US = 1_794_825_296_123_456


def make_trace(kind: str, **fields: object) -> Trace:
    values = {"at_us": AT_US, "topic": "fallecidos", "first_seq": 17, "last_seq": 17, "subscriber": "BPS", **fields}
    return Trace(kind=kind, **values)  # type: ignore[arg-type]


def make_search(query: str) -> TraceSearch:
    """A search as its address has it; nothing of a hub is needed to read it."""
    cookies = "pregon_zone=America%2FMontevideo; pregon_language=es"
    request = AdminRequest(method="GET", path="traces", query=query, cookies=cookies)
    return TraceSearch(Visit(cast(AdminDesk, None), request))


def test_every_kind_has_a_word_a_look_and_a_sentence() -> None:
    for table in (KIND_WORDS, LOOKS, LIST_SENTENCES, STORY_SENTENCES):
        assert list(table) == list(KINDS)


def test_a_trace_is_told_with_links_to_what_it_names() -> None:
    told = tell(make_trace(ACKNOWLEDGED, last_seq=516), ES)

    assert told.sentence.striptags() == "BPS confirmó los mensajes 17 a 516 de fallecidos"
    assert 'href="/admin/messages/fallecidos/516"' in told.sentence
    assert 'href="/admin/topics/fallecidos"' in told.sentence
    assert 'href="/admin/subscriptions/fallecidos/BPS"' in told.sentence
    assert (told.word, told.look) == ("confirmado", "good")


def test_a_name_is_never_taken_for_html() -> None:
    told = tell(make_trace(ACCEPTED, producer='"><script>', topic="<b>/../x"), EN)

    assert "<script>" not in told.sentence
    assert "<b>" not in told.sentence
    assert "/admin/topics/%3Cb%3E%2F..%2Fx" in told.sentence


@pytest.mark.parametrize(
    "kind, detail, why",
    [
        (FAILED, "HTTP 503 Service Unavailable; next try in 4 s", "The web service is down for a moment"),
        (DEFERRED, "connection refused", "Nothing listens at that address"),
        (PARKED, "refused 3 times: HTTP 400 Bad Request", "The web service refuses the message"),
        (PARKED, "refused 3 times: nothing known", ""),
        (PARKED, "she closed her account, see HTTP 503", ""),
        (FAILED, "something new", ""),
    ],
)
def test_a_failure_is_told_in_plain_words_and_a_person_in_their_own(kind: str, detail: str, why: str) -> None:
    told = tell(make_trace(kind, detail=detail), EN)

    assert told.why.startswith(why)
    assert bool(told.why) == bool(why)


def test_attempts_that_failed_for_the_same_reason_are_told_once() -> None:
    failures = [
        make_trace(FAILED, attempt=n, subscriber=name, detail=f"{why}; next try in {n} s")
        for n, name, why in [(1, "A", "refused"), (1, "B", "refused"), (2, "A", "refused"), (3, "A", "HTTP 503")]
    ]
    traces = [
        make_trace(ACCEPTED, producer="registro"),
        *failures[:2],
        make_trace(DEFERRED, subscriber="A"),
        *failures[2:],
        make_trace(DELIVERED, subscriber="A"),
        make_trace(FAILED, attempt=9, subscriber="A", detail="HTTP 503; next try in 1 s"),
    ]

    told = tell_story(traces, EN)

    assert [(one.trace.kind, one.trace.subscriber, [again.attempt for again in one.again]) for one in told] == [
        (ACCEPTED, "BPS", []),
        (FAILED, "A", [2]),
        (FAILED, "B", []),
        (DEFERRED, "A", []),
        (FAILED, "A", []),
        (DELIVERED, "A", []),
        (FAILED, "A", []),
    ]


def test_an_address_is_a_question_in_the_viewers_zone() -> None:
    search = make_search("topic=fallecidos&seq=17&kind=failed&from=2026-11-15T10:00&until=2026-11-15T11:00:30&before=9")

    asked = search.query(100)

    assert asked == TraceQuery(
        topic="fallecidos",
        seq=17,
        kind=FAILED,
        since_us=1_794_747_600_000_000,
        until_us=1_794_751_230_000_000,
        before=9,
        max=100,
    )
    assert search.query(1_000, is_from_newest=True).before == 0


@pytest.mark.parametrize("query", ["from=yesterday", "seq=-1", "seq=1e3", "seq=١", "before=x", f"seq={9**30}"])
def test_an_address_that_makes_no_sense_is_refused(query: str) -> None:
    with pytest.raises(BadRequest):
        make_search(query).query(100)


def test_a_search_is_widened_by_leaving_out_one_thing() -> None:
    search = make_search("subscriber=BPS&kind=failed&from=2026-11-15T10:00&before=99&other=1")

    asked = [(str(name), str(value), link) for name, value, link in search.asked()]

    assert asked == [
        ("Suscriptor", "BPS", "/admin/traces?kind=failed&from=2026-11-15T10%3A00"),
        ("Resultado", "envío fallido", "/admin/traces?subscriber=BPS&from=2026-11-15T10%3A00"),
        ("Desde el", "2026-11-15 10:00", "/admin/traces?subscriber=BPS&kind=failed"),
    ]


def pages_of(*pages: list[Trace]) -> Iterator[TracePage]:
    yield from (TracePage(page) for page in pages)


def test_the_csv_is_what_a_spreadsheet_reads_rightly() -> None:
    first = make_trace(ACCEPTED, id=2, producer="registro", subscriber="", detail='ñandú, "él"\nsegunda')
    second = make_trace(FAILED, id=1, detail="HTTP 503", attempt=3, latency_ms=40)

    data = b"".join(write_csv(pages_of([first], [], [second]), MONTEVIDEO))

    assert data.startswith(b"\xef\xbb\xbfid,at,kind,")
    assert data.count(b"\r\n") == 3
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    at = "2026-11-16T07:34:56.123456-03:00"
    assert rows == [
        list(COLUMNS),
        ["2", at, "accepted", "fallecidos", "registro", "", "17", "17", "0", "0", 'ñandú, "él"\nsegunda'],
        ["1", at, "failed", "fallecidos", "", "BPS", "17", "17", "3", "40", "HTTP 503"],
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_the_csv_is_a_formula(start: str) -> None:
    hostile = make_trace(PARKED, detail=f"{start}cmd|' /C calc'!A0")

    data = b"".join(write_csv(pages_of([hostile]), MONTEVIDEO)).decode("utf-8-sig")

    (_, row) = csv.reader(io.StringIO(data, newline=""))
    assert row[-1] == f"'{start}cmd|' /C calc'!A0"


@pytest.mark.parametrize(
    ("detail", "cell"),
    [
        ("\n=1+1", "\n'=1+1"),
        ("x;=cmd|' /C calc'!A0", "x;'=cmd|' /C calc'!A0"),
        ("a,+1;-2|@x\t=3\r\n=4", "a,'+1;'-2|'@x\t'=3\r\n'=4"),
        ('x; "=1+1"', 'x;\' "=1+1"'),
        ("\uff1d1;\uff201", "'\uff1d1;'\uff201"),
        ("a-b = c; d, e@f", "a-b = c; d, e@f"),
    ],
)
def test_no_part_of_a_cell_is_a_formula_where_lines_are_divided_otherwise(detail: str, cell: str) -> None:
    data = b"".join(write_csv(pages_of([make_trace(PARKED, detail=detail)]), MONTEVIDEO)).decode("utf-8-sig")

    (_, row) = csv.reader(io.StringIO(data, newline=""))
    assert row[-1] == cell


def test_the_parquet_has_the_columns_and_types_of_the_table(tmp_path: Path) -> None:
    file = tmp_path / "traces.parquet"
    trace = make_trace(FAILED, id=7, detail="=ñ", attempt=3, latency_ms=40)

    file.write_bytes(b"".join(write_parquet(pages_of([trace], []))))

    assert pq.read_schema(file).equals(SCHEMA_TRACES)
    row = pd.read_parquet(file).iloc[0]
    assert row["at"] == pd.Timestamp(AT_US, unit="us", tz="UTC")
    assert (row["kind"], row["detail"], row["attempt"]) == (FAILED, "=ñ", 3)
    found = duckdb.sql(f'SELECT id, subscriber, latency_ms, epoch_us("at") FROM "{file}"').fetchall()
    assert found == [(7, "BPS", 40, AT_US)]


def test_a_large_parquet_is_made_piece_by_piece(tmp_path: Path) -> None:
    read = 0

    def pages() -> Iterator[TracePage]:
        nonlocal read
        for start in range(0, GROUP_ROWS * 5 // 2, 1_000):
            read += 1_000
            yield TracePage(make_trace(DELIVERED, id=start + n) for n in range(1_000))

    pieces, read_at = [], []
    for piece in write_parquet(pages()):
        pieces.append(piece)
        if piece:
            read_at.append(read)

    file = tmp_path / "traces.parquet"
    file.write_bytes(b"".join(pieces))
    assert read_at == [GROUP_ROWS, GROUP_ROWS * 2, GROUP_ROWS * 5 // 2]
    assert pq.ParquetFile(file).num_row_groups == 3
    assert duckdb.sql(f"SELECT count(DISTINCT id) FROM '{file}'").fetchall() == [(GROUP_ROWS * 5 // 2,)]


def test_a_file_of_nothing_is_still_a_file(tmp_path: Path) -> None:
    file = tmp_path / "traces.parquet"

    file.write_bytes(b"".join(write_parquet(pages_of([]))))
    text = b"".join(write_csv(pages_of([]), MONTEVIDEO))

    assert pq.read_table(file).num_rows == 0
    assert text == b"\xef\xbb\xbf" + ",".join(COLUMNS).encode() + b"\r\n"
