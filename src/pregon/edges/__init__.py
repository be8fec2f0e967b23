"""The doors: the only sockets of the server. Each turns what comes through it into a verb of the hub.

They check and translate, and keep no state that matters. What a verb means is left to `hub`.
"""
