"""Who plays in the histories of a broker: names of clients and workers, services, and what each may say and do."""

from __future__ import annotations

from hypothesis import strategies as st

from .stage import number

OPTIONS = {
    "beat_ms": 100,
    "patience": 3,
    "answer_ms": 1_000,
    "wait_ms": 2_000,
    "attempts_max": 3,
    "queue_max": 4,
}
TYPES = ("default", "A", "B")
SERVED = ("default", "A", "B", "A@1", "A@2", "B@1")
RICH, PLAIN = (b"rich-1", b"rich-2", b"rich-3"), (b"plain-1", b"plain-2")
DEALERS, REQS = (b"dealer-1", b"dealer-2", b"dealer-3"), (b"req-1", b"req-2")
POISON_MAX = 2

clients = st.sampled_from(RICH)
plain_clients = st.sampled_from(PLAIN)
dealers = st.sampled_from(DEALERS)
reqs = st.sampled_from(REQS)
workers = st.sampled_from((*DEALERS, *REQS))
types = st.sampled_from(TYPES)
loads = st.sampled_from([0.0, 0.5, 0.9, 3.0])
picks = st.integers(0, 7)
times_ms = st.sampled_from([0, 1, 40, 100, 250, 400, 1_000, 2_100])
heads = st.builds(
    lambda kind, id, tail: b"PGS1" + kind + id + tail,
    st.sampled_from([bytes([kind]) for kind in b"RCLQAEYHWBGNX?\x00\xff"]),
    st.sampled_from([bytes(8), number(1 << 60), b"short", b""]),
    st.sampled_from([b"", b"A", b"A\n{", b'{"types": []}', b"[" * 2_000, b"\xff", b"nan", b"null", b'"\\ud800"']),
)
frames = st.sampled_from([b"", b"", b"x", b"PGS1", b"\xff" * 300]) | heads | st.binary()
nonsense = st.lists(frames, max_size=12)
