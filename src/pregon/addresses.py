"""Where a hub is when nobody says otherwise: on this machine, reached by nobody else."""

HUB_VARIABLE = "PREGON_HUB"
"""The environment variable that names another hub to clients."""
DEFAULT_HUB = "tcp://127.0.0.1:5570"
DEFAULT_FEED = "tcp://127.0.0.1:5571"
DEFAULT_INGEST = "tcp://127.0.0.1:5572"
DEFAULT_HTTP = "127.0.0.1:5580"
