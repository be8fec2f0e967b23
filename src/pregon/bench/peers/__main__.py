"""Measure the peers by themselves: `python -m pregon.bench.peers [--install]`.

This only shows that every peer works and roughly how fast; the benchmark proper measures them beside the hub.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from pregon.bench.peers import Peer, PeerFailed, PeerMissing, all_peers, find_servers, install_peers

MESSAGES = 20_000
MESSAGES_ONE_BY_ONE = 1_000
BODY_BYTES = 200
IN_FLIGHT = 500
ROW = "{:<44} {:<9} {:>14} {:>14} {:>12} {:>12}"


def main() -> int:
    """Print one row for each peer; a peer that cannot be measured says why. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m pregon.bench.peers", description=__doc__)
    parser.add_argument("--install", action="store_true", help="first install missing servers (Debian, as root)")
    if parser.parse_args().install:
        try:
            install_peers()
        except PeerMissing as problem:
            print(problem, file=sys.stderr)
    versions = find_servers()
    print(ROW.format("peer", "version", "publish msg/s", "consume msg/s", "one p50 ms", "one p99 ms"))
    failures = 0
    for peer in all_peers():
        try:
            print(_measure(peer, versions.get(peer.server, "missing")), flush=True)
        except (PeerMissing, PeerFailed) as problem:
            failures += 1
            print(f"{peer.name}: not measured: {problem}", flush=True)
    return 1 if failures else 0


def _measure(peer: Peer, version: str) -> str:
    """Start the peer in a folder of its own, measure it, stop it, and write its row."""
    bodies = [number.to_bytes(8, "big") + bytes(BODY_BYTES - 8) for number in range(MESSAGES)]
    with tempfile.TemporaryDirectory(prefix="pregon-peer-") as directory:
        try:
            peer.start(Path(directory))
            publish_s = peer.publish("many", bodies, IN_FLIGHT)
            consume_s = peer.consume("many", MESSAGES)
            one_s = peer.publish_one_by_one("one-by-one", bodies[:MESSAGES_ONE_BY_ONE])
        finally:
            peer.stop()
    percentiles_s = statistics.quantiles(one_s, n=100)
    return ROW.format(
        peer.name,
        version,
        f"{MESSAGES / publish_s:,.0f}",
        f"{MESSAGES / consume_s:,.0f}",
        f"{percentiles_s[49] * 1_000:.2f}",
        f"{percentiles_s[98] * 1_000:.2f}",
    )


if __name__ == "__main__":
    sys.exit(main())
