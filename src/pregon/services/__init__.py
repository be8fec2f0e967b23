"""Services: requests that find a worker, whichever is free, of the right kind, least loaded, alive.

Everything here decides and nothing here waits: events and the time go in, frames and what to store come out. The
sockets are in `edges.zmq.services`; what is durable is kept by the hub's store, through `journal`.
"""
