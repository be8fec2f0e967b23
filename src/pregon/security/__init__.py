"""Who asks, and what they may do: keys, tokens, identity providers, permissions, TLS.

Doors find out who asks here and reach the hub only through `gate`; what the verbs do is the hub's business.
"""
