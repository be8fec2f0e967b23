"""The SOAP door: publication, reception, the catalogue and the traces, for programs that speak SOAP 1.1 or 1.2.

It turns envelopes into the verbs of `hub.gate` and their answers into envelopes; who may do what is the gate's, and
the sockets are the HTTP door's.
"""
