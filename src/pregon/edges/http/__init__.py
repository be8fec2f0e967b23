"""The HTTP door: for now, whether the hub lives, whether it is ready, and its metrics.

Publishing and receiving over HTTP is not here yet; the fast lane does it.
"""
