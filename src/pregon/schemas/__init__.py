"""What the body of a message must look like, and whether it does.

Reads schemas and bodies that others hand over, and answers; it opens no file, no socket and no store.
Which topic has which schema is the catalogue's business, and when to ask is the hub's.
"""
