"""Requests and answers measured: the service broker beside a bare proxy in C and beside what else people use.

A contender is a server, two workers and a client, each in a process of its own; this package starts them, asks in
turns and tells the ratios. What the broker does is `pregon.services`; where the other servers come from is
`pregon.bench.peers`.
"""
