"""SOAP as text: the names, envelopes read and written, and what a message is inside one.

Who sends an envelope, and what it asks for, is left to the SOAP door and to the delivery of pushes.
"""
