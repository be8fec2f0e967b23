"""Measuring the hub: the scenarios that time it, the peers timed beside it, and the report of both.

Nothing here is needed to run a hub, and nothing in the hub imports it.
"""
