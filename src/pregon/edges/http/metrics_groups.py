"""The numbers of groups in Prometheus' format."""

from __future__ import annotations

_COUNTS = {
    "messages": "Messages of groups, the hub's own among them",
    "joined": "Members that came",
    "left": "Members that went, or were taken off",
    "refused": "Messages and changes that were refused",
}


def render_groups(counts: dict[str, int]) -> bytes:
    """What groups count as a whole."""
    lines = ["# HELP pregon_groups_here Participants that were in contact lately", "# TYPE pregon_groups_here gauge"]
    lines += [f"pregon_groups_here {counts['here']}"]
    for name, text in _COUNTS.items():
        full = f"pregon_groups_{name}_total"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} counter", f"{full} {counts[name]}"]
    return ("\n".join(lines) + "\n").encode()
