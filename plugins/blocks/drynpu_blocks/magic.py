"""The cell magic ``%%npu_profile``: records a cell on the simulated npu and shows its numbers."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from drynpu import PluginError
from drynpu_blocks.block_profile import BlockProfile


def register_magic(shell: InteractiveShell) -> None:
    """Add ``%%npu_profile`` to a session of IPython or a notebook's kernel."""

    @magic_arguments()
    @argument("name", nargs="?", default="npu_profile", help="Variable that holds the profile. Default: npu_profile.")
    @argument("-o", "--output", default="npu_profiles", help="Folder of the result. Default: npu_profiles.")
    @argument("-f", "--framework", default="torch", help="Whose profiler records. Default: torch.")
    @argument("-q", "--quiet", action="store_true", help="Show no numbers below the cell.")
    def npu_profile(line: str, cell: str) -> Any:
        """
        Record a cell on the simulated npu, and show what ran.

        The cell runs in the notebook's own variables. `npu_profile.step()` in it ends a step; after it the variable
        holds step_ms, kernels, peak_memory and run, whose tables and figures equal drynpu.open_run's.
        """
        options = parse_argstring(npu_profile, line)
        profile = BlockProfile(Path(options.output).absolute(), options.framework)
        shell.user_ns[options.name] = profile
        try:
            with profile:
                return _run_cell(shell, cell)
        except PluginError as error:  # in one line, as IPython shows wrong arguments of a magic
            raise UsageError(f"%%npu_profile: {error}") from error
        finally:
            if profile.used and not options.quiet:
                display(profile)

    shell.register_magic_function(npu_profile, "cell", "npu_profile")


def _run_cell(shell: InteractiveShell, cell: str) -> Any:
    """Run a cell in the session's variables and return the value of its last expression, which IPython shows."""
    code = shell.transform_cell(cell)
    name = shell.compile.cache(code)  # so that a traceback shows the cell's lines
    tree = shell.transform_ast(shell.compile.ast_parse(code, filename=name))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), shell.user_ns)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), shell.user_ns)
