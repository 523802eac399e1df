"""
The vendor's command ``msprof`` (cann_msprof.md 6).

Importing this package imports nothing.
"""
