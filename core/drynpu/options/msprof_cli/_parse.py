"""The collection switches of ``msprof`` into the neutral model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.options._notices import Notice, NoticeCode, Origin, warning
from drynpu.options._problems import shown, shown_key
from drynpu.options._request import Parsed
from drynpu.options.msprof_cli._build import build_launch, build_request
from drynpu.options.msprof_cli._flags import FLAGS
from drynpu.options.msprof_cli._launch import LaunchMode, MsprofParsed
from drynpu.options.msprof_cli._read import FlagContext, Refusal, read_flag
from drynpu.options.msprof_cli._rules import FlagValues, find_mode, problems_between, remarks
from drynpu.options.msprof_cli._spell import to_flags
from drynpu.options.profiling_options import resolve_output
from drynpu.platforms import DEFAULT_CHIP, resolve_platform


def parse(
    flags: Mapping[str, str],
    *,
    application: Sequence[str] = (),
    chip: str = DEFAULT_CHIP,
    environ: Mapping[str, str] | None = None,
    cwd: str | None = None,
    require_target: bool = True,
) -> MsprofParsed:
    """
    Read given switches (cann_msprof.md 6.1).

    Parameters
    ----------
    flags:
        Name -> text as typed, with or without the two hyphens; only what was given.
    application:
        The command after the flags.
    chip:
        ``platform_version``, series or SoC name; the command lacks some flags on some chips.
    environ, cwd:
        Where ``ASCEND_WORK_PATH`` and relative paths are looked up; the process's own by default.
    require_target:
        Whether there must be something to profile: an application, a process, devices or the host. Without, a command
        line that names nothing is read as one with an application.

    Raises
    ------
    OptionError
        With every problem, each in the words of the command; it prints them with ``[ERROR] `` in front.
    """
    platform = resolve_platform(chip)
    environ = os.environ if environ is None else environ
    cwd = str(Path.cwd()) if cwd is None else cwd
    values, problems = _read(flags, FlagContext(platform, cwd))
    mode = find_mode(values, application)
    if mode is None and require_target and not problems:
        names = "--application --sys-devices --host-sys --host-sys-usage --parse --query --export --analyze"
        problems.append(f"No valid argument found in {names}")
    flag_values = FlagValues(
        values=values, mode=mode or LaunchMode.APPLICATION, application=tuple(application), platform=platform
    )
    problems += problems_between(flag_values, require_target=require_target)
    directory, origin = "", Origin.DEFAULT
    try:
        directory, origin = _directory(flag_values, environ, cwd)
    except OptionError as error:
        problems += error.problems
    if problems:
        raise OptionError(problems)
    return _build(flag_values, directory, origin)


def _read(flags: Mapping[str, str], context: FlagContext) -> tuple[dict[str, Any], list[str]]:
    """Return the neutral values by flag name in the order of the table, and the problems."""
    if not isinstance(flags, Mapping):
        raise OptionError([f"msprof: {shown(flags)} is not a mapping of flags."])
    texts: dict[str, object] = {}
    problems = []
    for key, text in flags.items():
        name = key.removeprefix("--") if isinstance(key, str) else shown_key(key)
        flag = FLAGS.get(name)
        if flag is None:
            word = shown_key(name)
            hint = did_you_mean(name, FLAGS).replace("'", "'--", 1)
            problems.append(f"--{word}: unrecognized option '--{word}'.{hint}")
        elif not flag.is_on(context.platform):
            absent = f"unrecognized option '{flag.option}' on {context.platform.label}"
            problems.append(f"{flag.option}: {absent}; chips with it: {flag.holders}")
        elif name in texts:
            problems.append(f"--{name}: given twice, as {name} and as --{name}.")
        else:
            texts[name] = text
    values = {}
    for name, flag in FLAGS.items():
        if name in texts:
            try:
                values[name] = read_flag(flag, texts[name], context)
            except Refusal as refusal:
                problems.append(str(refusal))
    return values, problems


def _directory(flags: FlagValues, environ: Mapping[str, str], cwd: str) -> tuple[str, Origin]:
    """Return where the data goes: the flag, ``ASCEND_WORK_PATH``, the application's directory or this one."""
    if "output" in flags.values:
        return flags.values["output"], Origin.GIVEN
    fallback = cwd
    words = flags.values.get("application", ())
    named = next((word for word in words[:2] if "/" in word), None)
    if named is not None:
        fallback = os.path.normpath(Path(cwd) / Path(named).parent)
    directory, origin = resolve_output("", environ, cwd, value_id="EK0003", fallback=fallback)
    return directory, Origin.DEFAULT if origin is Origin.RULE else origin


def _build(flags: FlagValues, directory: str, origin: Origin) -> MsprofParsed:
    request, rules = build_request(flags, directory)
    launch = build_launch(flags)
    counts = flags.counting
    # An old name decides only where the new one is left out.
    deciding = [FLAGS[name] for name in counts if name != "task-trace" or "task-time" not in counts]
    origins = {flag.path: Origin.GIVEN for flag in deciding if flag.in_request}
    origins.update(dict.fromkeys(rules, Origin.RULE))
    origins["output.directory"] = origin
    parsed = Parsed.build(
        request,
        dialect="msprof_cli",
        notices=[*_notes(flags), *remarks(flags)],
        origins=origins,
        spellings={flag.path: flag.option for flag in FLAGS.values() if flag.name != "task-trace" and flag.in_request},
        effective=to_flags(request, launch, chip=flags.platform.version),
    )
    return MsprofParsed(**asdict(parsed, recurse=False), launch=launch)


def _notes(flags: FlagValues) -> list[Notice]:
    return [
        warning(FLAGS[name].option, FLAGS[name].note, NoticeCode.DEPRECATED)
        for name in flags.values
        if FLAGS[name].note
    ]
