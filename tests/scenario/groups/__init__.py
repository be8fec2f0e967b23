"""Groups as strangers use them, at every door."""
