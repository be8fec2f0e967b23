"""The story of `pregon demo`: a registry, four bodies that want its news, and a bad day, on this machine.

What happens is decided and checked here; how it is shown is left to `cli`.
"""
