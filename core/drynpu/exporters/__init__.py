"""
Exporters: profiles in the files of other tools.

`registry` brings the core's exporters and the ones that plugins add together. Importing this package imports nothing.
"""
