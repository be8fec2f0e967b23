"""How much is published: messages, bytes and producers of each topic in windows of time.

The same function for a table and for a stream. By the time at which the hub accepted a message, which never runs
backwards for long: in a stream a window closes, and is told once, when a message has come that is later than its end by
`late`.

Promises:
- A message is counted in its window, or in each of the windows that hold it if they slide; no window is told twice in
  a stream with the output mode `append`.
- Windows in which nothing was published have no row.
- `producers` is an estimate, within 5 per cent as a rule and exact for a handful: a stream cannot keep all their names.
"""

from __future__ import annotations

import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pregon.errors import BadRequest

COLUMNS = ("topic", "window_start", "window_end", "messages", "bytes", "producers", "last_at")
WINDOW_US_MAX = 31 * 24 * 60 * 60 * 1_000_000
WINDOWS_OF_MESSAGE_MAX = 100

_UNITS_US = {
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
_INTERVAL = re.compile(r"([1-9][0-9]{0,8}) +(millisecond|second|minute|hour|day)s?", re.ASCII | re.IGNORECASE)


def traffic(
    messages: DataFrame, *, window: str = "1 minute", slide: str | None = None, late: str = "1 minute"
) -> DataFrame:
    """What was published in each topic and window: COLUMNS; raises BadRequest.

    With `slide`, a window begins that often. `late` is for streams: how long a window waits for messages that are
    accepted out of order.
    """
    window_us, slide_us = interval_us(window, "window"), interval_us(slide or window, "slide")
    interval_us(late, "late")
    if not slide_us <= window_us <= slide_us * WINDOWS_OF_MESSAGE_MAX:
        raise BadRequest(
            f"windows of {window} every {slide} do not fit: give a slide that is no longer than the window, "
            f"and so that a message is in {WINDOWS_OF_MESSAGE_MAX} windows at most"
        )
    in_window = f.window("accepted_at", f"{window_us} microseconds", f"{slide_us} microseconds")
    # In a table the watermark does nothing.
    counted = messages.withWatermark("accepted_at", late).groupBy("topic", in_window.alias("window"))
    return counted.agg(
        f.count("*").alias("messages"),
        f.coalesce(f.sum(f.length("body")), f.lit(0)).alias("bytes"),
        f.approx_count_distinct("producer").alias("producers"),
        f.max("accepted_at").alias("last_at"),
    ).select(
        "topic",
        f.col("window.start").alias("window_start"),
        f.col("window.end").alias("window_end"),
        *COLUMNS[3:],
    )


def interval_us(text: str, name: str) -> int:
    """A length of time, such as "90 seconds"; raises BadRequest, saying what to write."""
    found = _INTERVAL.fullmatch(text.strip())
    if found is not None:
        us = int(found[1]) * _UNITS_US[found[2].lower()]
        if us <= WINDOW_US_MAX:
            return us
    raise BadRequest(
        f"{text[:60]!r} is no {name}: write a number and milliseconds, seconds, minutes, hours or days, "
        "such as 1 minute; 31 days at most"
    )
