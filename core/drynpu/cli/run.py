"""``drynpu run``: start a script as Python would, with the facades in reach."""

from __future__ import annotations

import functools
import os
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

import click
from attrs import evolve, frozen

from _drynpu_finder import served_folders
from drynpu import TOOLKIT_VARIABLES, CommandError, OptionError, listening, needs_plugin, toolkit_folder
from drynpu.cli._cuda_scripts import hint_at_transfer
from drynpu.cli.shared import QUIET_FRAMEWORKS, as_json, gathered
from drynpu.cli.world import WorldFlags, WorldOptions, read_world, run_world, world_options
from drynpu.options import Clock, Settings
from drynpu.platforms import load_chip, load_topology
from drynpu.plugins import Activation, Plugins

_INTERRUPTED = 130
"""What a shell reports for a command that Ctrl-C has ended."""
# Steps before these warm up caches and allocators.
_PROFILE_STEPS = "2:3"
_VIRTUAL_TIME = "virtual_time"
_PROFILE_OUTPUT = Path("profile_out")
# What the frameworks print at import would drown the script's own output.


@frozen
class RunFlags:
    """The options that say how to simulate."""

    chip: str | None
    clock: str | None
    time: str | None
    seed: int | None
    devices: int | None
    strict: bool
    report_device: bool
    no_compute: bool
    quiet: bool
    tf1: bool | None

    def environment(self) -> dict[str, str]:
        """Return the variables that tell this process and those that it starts."""
        values = {
            "DRYNPU_CHIP": self.chip,
            "DRYNPU_CLOCK": self.clock,
            "DRYNPU_TIME": self.time,
            "DRYNPU_SEED": None if self.seed is None else str(self.seed),
            "DRYNPU_DEVICES": None if self.devices is None else str(self.devices),
            "DRYNPU_STRICT": "1" if self.strict else None,
            "DRYNPU_QUIET": "1" if self.quiet else None,
            "DRYNPU_COMPUTE": "0" if self.no_compute else None,
            "DRYNPU_REPORT_DEVICE": "1" if self.report_device else None,
            "DRYNPU_TF1": None if self.tf1 is None else str(int(self.tf1)),
        }
        return {name: value for name, value in values.items() if value is not None}


@frozen
class ProfileFlags:
    """The options of a profile that no script orders."""

    profile: bool
    profile_steps: str | None
    profile_output: Path | None

    def environment(self) -> dict[str, str]:
        """Return the variable that tells processes what to profile; none where there is no such option."""
        if not (self.profile or self.profile_steps or self.profile_output):
            return {}
        # It takes longer to import than all the rest of this command, and a script may never record.
        from drynpu.recorder import PROFILE_VARIABLE, ProfileCommand

        output = (self.profile_output or _PROFILE_OUTPUT).absolute()
        command = ProfileCommand.from_window(self.profile_steps or _PROFILE_STEPS, output)
        return {PROFILE_VARIABLE: command.to_text()}


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--chip", help="Chip to simulate (drynpu chips lists them). Default: DRYNPU_CHIP or Ascend910B2.")
@click.option(
    "--clock",
    type=click.Choice([clock.value for clock in Clock]),
    help="Times of the host: modelled (the default), modelled with gaps as measured, or all as measured (wall).",
)
@click.option(
    "--time",
    type=click.Choice(["machine", "virtual"]),
    help="What the script reads from time, asyncio and events: this machine's time (the default), or the simulated.",
)
@click.option("--seed", type=int, help="Seed of the simulated jitter; the same seed gives the same device times.")
@click.option("--devices", type=int, help="Number of NPUs the script sees.")
@click.option("--strict", is_flag=True, help="Read options as the current collector does, without leniency.")
@click.option("--report-device", is_flag=True, help="Tensors say that they are on the NPU (PyTorch; slower).")
@click.option(
    "--no-compute", is_flag=True, help="Run models of full size on shapes alone: no values, no memory (PyTorch)."
)
@click.option("--quiet", "-q", is_flag=True, help="No summary at the end.")
@click.option("--profile", is_flag=True, help="Profile a script that has no profiler code of its own (PyTorch).")
@click.option(
    "--profile-steps",
    metavar="SKIP:COUNT",
    help="With --profile: let SKIP training steps pass, record COUNT; 'all' records the whole run.  [default: 2:3]",
)
@click.option(
    "--profile-output",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --profile: where results go.  [default: ./profile_out]",
)
@click.option(
    "--tf1/--no-tf1",
    default=None,
    help="Serve tensorflow in its v1 face, or not.  [default: to scripts that need it]",
)
@gathered("flags", RunFlags)
@gathered("profile", ProfileFlags)
@world_options
@as_json
@click.option("--module", "-m", "is_module", is_flag=True, help="SCRIPT is a module name, as in python -m.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def run(
    plugins: Plugins,
    /,
    flags: RunFlags,
    profile: ProfileFlags,
    world: WorldFlags,
    json_output: bool,
    is_module: bool,
    script: str,
    arguments: tuple[str, ...],
) -> None:
    """
    Run SCRIPT with ARGUMENTS on this machine as if it had NPUs.

    The script needs no change: torch_npu and the other vendor modules resolve to drynpu's unless genuine ones are
    installed. At the end a summary says where the step time went.

    With --json one document has the exit status and the summaries of all results of all processes; what the script
    prints goes to stderr.
    """
    os.environ.update(flags.environment() | profile.environment())
    if flags.time == "virtual" and _VIRTUAL_TIME in plugins.switched_off:
        raise CommandError(needs_plugin("--time virtual", _VIRTUAL_TIME), exit_code=2)
    if world.topology is not None:
        os.environ["DRYNPU_TOPOLOGY"] = str(world.topology)
    for name, value in QUIET_FRAMEWORKS.items():
        os.environ.setdefault(name, value)
    for name in TOOLKIT_VARIABLES:
        os.environ.setdefault(name, str(toolkit_folder()))
    for name in ("DRYNPU_AUTOLOAD", "DRYNPU_BUILD"):
        os.environ.setdefault(name, "1")
    settings = Settings.checked(os.environ)
    for notice in settings.notices:
        click.echo(f"drynpu: {notice}", err=True)
    known = load_chip(settings.chip, extra_files=plugins.chip_files())
    if settings.topology:
        load_topology(settings.topology).applied(known)
    job = read_world(evolve(world, topology=Path(settings.topology) if settings.topology else None), settings.devices)
    command = [*(["-m"] if is_module else []), script, *arguments]
    if json_output:
        raise SystemExit(_documented(job, command))
    if job is not None:
        raise SystemExit(run_world(job, command))
    _serve_facades(plugins)
    with listening(None):  # what the script prints must not mix with a line that is drawn again
        _start(plugins, script, arguments, is_module=is_module)


def _documented(job: WorldOptions | None, command: Sequence[str]) -> int:
    # Reading results takes longer to import than all the rest of this command.
    from drynpu.cli._run_document import run_documented, run_process

    start = functools.partial(run_process, command) if job is None else functools.partial(run_world, job, command)
    return run_documented(command, start)


def _serve_facades(plugins: Plugins) -> None:
    """
    Put the facades at the end of the path, here and for child processes, where no finder serves them.

    That is where ``.pth`` files are not read, and for the facades of third-party adapters.
    """
    folders = [str(facade.folder) for facade in plugins.facades()]
    served = {*sys.path, *served_folders()}
    missing = [folder for folder in dict.fromkeys(folders) if folder not in served]
    sys.path.extend(missing)
    if missing:
        inherited = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([*([inherited] if inherited else []), *missing])


def _start(plugins: Plugins, script: str, arguments: tuple[str, ...], *, is_module: bool) -> None:
    path = Path(script)
    if not is_module and not path.is_file():
        what = f"{script} is a directory, not a script" if path.is_dir() else f"no such script: {script}"
        raise CommandError(what, exit_code=2)
    argv = (script, *arguments)
    plugins.activate(Activation(script=path, argv=argv, environment=os.environ))
    sys.argv[:] = argv
    if not getattr(sys.flags, "safe_path", False):
        # As `python script.py` does: the script's folder comes first on the path instead of the command's.
        sys.path[0] = str(Path.cwd()) if is_module else str(path.resolve().parent)
    try:
        if is_module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            _execute(path.absolute())
    except SystemExit as ended:
        if ended.code not in (None, 0):
            hint_at_transfer(ended)
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the script's own errors, shown as Python shows them
        # Show the script's own frames, as `python script.py` would.
        frames = _own_frames(error.__traceback__)
        if isinstance(error, OptionError):
            _end_before_ours(frames)
        shown = error.with_traceback(frames)
        sys.excepthook(type(shown), shown, shown.__traceback__)
        hint_at_transfer(shown)
        raise SystemExit(_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1) from None


def _execute(path: Path) -> None:
    """
    Run a file as the main module, for as long as the process lives.

    ``runpy.run_path`` would put the absolute path into ``sys.argv[0]``, and take the module away before exit
    handlers and threads of the script are done with it.
    """
    module = ModuleType("__main__")
    module.__file__ = str(path)
    module.__loader__ = SourceFileLoader("__main__", str(path))
    sys.modules["__main__"] = module
    # dont_inherit: the __future__ imports of this file are not the script's.
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Drop the frames of this command and of runpy from the top of a traceback: all of it for a syntax error."""
    ours = (__file__, runpy.__file__, "<frozen runpy>")
    while traceback is not None and traceback.tb_frame.f_code.co_filename in ours:
        traceback = traceback.tb_next
    return traceback


def _end_before_ours(traceback: TracebackType | None) -> None:
    """End a traceback before the first frame of drynpu: what is wrong is a value of the script."""
    while traceback is not None and traceback.tb_next is not None:
        if traceback.tb_next.tb_frame.f_globals.get("__name__", "").startswith("drynpu"):
            traceback.tb_next = None
        traceback = traceback.tb_next
