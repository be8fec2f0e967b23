"""The rules of the house that a machine can keep.

Modules named for a subject (`shape`, `layers`, `conduct`, ...) hold pure rules: text in, violations out.
Each `test_` module applies its rules to the real tree, and shows each of them failing on a small example.
"""
