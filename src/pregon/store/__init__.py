"""Where messages, cursors and traces are kept: one schema over an embedded SQLite or another database.

These modules know SQL and durability, and take or return the nouns of `model`. What a verb means, and who
may call it, is left to `hub`.
"""
