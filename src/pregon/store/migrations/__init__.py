"""The steps from an empty database to the schema of today, run by `store.migrate`. Each step is a file in `versions`."""
