"""
Exporters: profiles in the files of other tools.

The bundled exporters reach ``drynpu export`` through the same hook as exporters of other distributions: `plugin` names
them. Importing this package imports nothing.
"""
