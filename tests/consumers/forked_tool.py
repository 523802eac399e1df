"""The command ``msprof-analyze`` for a warm process; the processes that it starts are forks as well."""

from __future__ import annotations

import multiprocessing

from msprof_analyze.cli.entrance import msprof_analyze_cli

# The tool says "spawn" while it is imported.
multiprocessing.set_start_method("fork", force=True)
msprof_analyze_cli(prog_name="msprof-analyze")
