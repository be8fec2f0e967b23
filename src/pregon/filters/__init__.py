"""Which messages a subscription wants: reading its filter, and examining messages by it.

Knows nothing of subscriptions, stores or delivery: texts and messages come in, verdicts go out. Filters that look
into bodies run in child processes, which the hub's other threads neither wait for nor share a lock with.
"""
