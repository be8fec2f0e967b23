"""The HTTP door: REST under /v1, live streams, the interactive page, and pages for machines that watch the hub.

One table of routes (`routes`) says what there is; the same table answers requests and writes the OpenAPI
document. What requests mean is in the module of their noun; everything goes to the hub through its gate.
"""
