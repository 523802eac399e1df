"""
Exporters: profiles in the files of other tools.

The bundled ones reach ``drynpu export`` through the hook that those of other distributions use: `plugin` names them.
Importing this package imports nothing.
"""
