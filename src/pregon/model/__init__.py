"""The nouns of the product and their pure rules: names, messages, batches, subscriptions, traces.

Nothing here does I/O or reads a clock. Storing, sending and deciding when are left to the layers above.
"""
