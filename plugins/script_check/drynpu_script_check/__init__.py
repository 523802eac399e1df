"""
Mistakes of a script, found in its first steps before the run is paid for: where they are, what shows them, a fix.

Importing this package imports nothing.
"""
