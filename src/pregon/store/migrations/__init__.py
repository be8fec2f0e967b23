"""The steps from an empty database to the schema of today. `store.migrate` runs them; each is a file in `versions`."""
