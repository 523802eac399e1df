"""
Pages of runs: in a browser (`dashboard`), in a file (`report`), in a notebook (`opened`).

`pages` says what stands on each, `figures` and `timeline` draw it. Importing this package imports nothing.
"""
