"""Histories for Hypothesis: any list of actions, with any numbers, is one."""

from __future__ import annotations

from hypothesis import strategies as st

from .trial import ACTIONS

counts = st.integers(2, 7)
actions = st.tuples(st.sampled_from(ACTIONS), st.integers(0, 6), st.integers(0, 30))
histories = st.lists(actions, max_size=80) | st.lists(actions, min_size=40, max_size=80)
short_histories = st.lists(actions, max_size=30)
