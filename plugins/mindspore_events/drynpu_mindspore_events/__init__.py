"""
Times between events of MindSpore, as the simulated device reaches them.

Importing this package imports nothing: hooks are read where nobody uses MindSpore.
"""
