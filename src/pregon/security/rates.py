"""How often a key may ask: a bucket of requests that fills at a steady rate.

Pure: who asks says what time it is. A bucket holds one second's worth, so a key that was silent may ask that
many at once and then at its rate.
"""

from __future__ import annotations

from dataclasses import dataclass

from pregon.errors import RateLimited

_BUCKETS_MAX = 100_000


@dataclass(slots=True)
class _Bucket:
    left: float
    at_ms: float


class Rates:
    """A bucket for each key that has a limit. For one thread at a time."""

    def __init__(self) -> None:
        self._buckets: dict[str, _Bucket] = {}

    def take(self, key_id: str, requests_per_s: int, now_ms: float) -> None:
        """One request of this key; raises RateLimited when it has none left, saying when it will."""
        bucket = self._buckets.get(key_id)
        if bucket is None:
            if len(self._buckets) >= _BUCKETS_MAX:
                # Those who come back begin with a full bucket: for a moment a key may ask twice as often.
                self._buckets.clear()
            bucket = self._buckets[key_id] = _Bucket(float(requests_per_s), now_ms)
        gained = (now_ms - bucket.at_ms) * requests_per_s / 1_000
        bucket.left, bucket.at_ms = min(float(requests_per_s), bucket.left + gained), now_ms
        if bucket.left < 1.0:
            wait_ms = (1.0 - bucket.left) * 1_000 / requests_per_s
            raise RateLimited(f"this key may ask {requests_per_s} times a second: ask again in {wait_ms:.0f} ms")
        bucket.left -= 1.0
