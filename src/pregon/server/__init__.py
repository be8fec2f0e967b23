"""The servers: the only place that chooses the parts and joins them.

A hub with its doors, and a service broker by itself: each in a module of its own, so that the one starts without the
other.
"""
