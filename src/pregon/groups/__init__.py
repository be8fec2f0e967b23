"""Groups in the hub: who takes part, who is a member, what may be sent, and in which order it stands in the log.

The log, its readers and its limits are the hub's; the order between messages is of `causal`; sockets are of `edges`.
"""
