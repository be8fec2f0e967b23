"""`python -m pregon` is `pregon`."""

from pregon.cli import main

main()
