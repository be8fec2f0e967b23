"""Push: messages of a subscription, posted to the web service of its subscriber.

What one attempt is, what its answer means, when it is repeated and what is told about it; what is pending and what is
settled is the hub's business, and where a push may go is `security.guard`'s.
"""
