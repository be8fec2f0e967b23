"""The pipelines: each step a function from DataFrames to a DataFrame, to import and to put together in another way.

Where tables come from and where results go is left to `running`.
"""
