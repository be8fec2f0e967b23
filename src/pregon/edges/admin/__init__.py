"""The administration pages, /admin, for people who run a hub. They are drawn on the server, in Spanish and English.

A page asks the hub through its gate, as who has entered, and knows nothing of HTTP: `edges/admin_over_http.py` reads
the request and writes the answer, in threads of its own, so that no page delays a publication.
"""
