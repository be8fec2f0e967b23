"""SOAP clients of the scenarios: a plain one of a few lines, and the npm project of one that is made from the WSDL.

What they must find is for the tests to say.
"""
