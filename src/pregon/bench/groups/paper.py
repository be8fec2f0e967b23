"""What the paper measured: Table II of Vargas-Santiago, Morales-Rosales, Pomares-Hernández and Drira, per cent by which
the response took longer with causal order than without, on two servers, and the classes of ITU-T G.1010.
"""

from __future__ import annotations

PROCESSES = tuple(range(10, 211, 10))

_BY_JBOSS = (100, 108.3, 163.2, 90.9, 66.7, 163.2, 82.0, 76.6, 88.2, 35.9, 40.1, 53.3, 28.9, 105.8, 49.3, 103.4, 38.2)
JBOSS = dict(zip(PROCESSES, (*_BY_JBOSS, 21.1, 21.25, 16.4, 13.5), strict=True))
GLASSFISH = dict(zip(PROCESSES, (26.1, 6.4, 42.3, 42.8, 0.8, 9.8, 8.9, 16.6, 0.7, 0.9), strict=False))
"""The paper tells it up to 100 processes."""

PREFERRED_S, ACCEPTABLE_S = 2.0, 4.0


def class_of(response_s: float) -> str:
    """What the recommendation calls a response that takes so long."""
    if response_s <= PREFERRED_S:
        return "preferred"
    return "acceptable" if response_s <= ACCEPTABLE_S else "unacceptable"
