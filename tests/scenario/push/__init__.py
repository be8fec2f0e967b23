"""Push, with real web services: attempts, order, failures, switching, kills."""
