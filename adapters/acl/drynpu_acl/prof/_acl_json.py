"""The file of ``acl.init``: what its ``profiler`` section requests (pyacl_prof.md 11)."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from drynpu import OptionError, say
from drynpu.options import ProfilingRequest, acl_json
from drynpu.options.profiling_options import prepare_output
from drynpu.platforms import Chip
from drynpu_acl.constants import ReturnCode

ProfilerSection = tuple[ProfilingRequest, Path]
_MOST_DEPTH = 10
"""Levels of braces and of brackets that the file may have."""
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')


def read_acl_json(path: str, chip: Chip, *, strict: bool) -> tuple[int, ProfilerSection | None]:
    """
    Return the code of ``acl.init`` and, where profiling is on, the request and the directory of the results.

    Without ``output`` results go to ``$ASCEND_WORK_PATH/profiling_data``, or to the directory of the script.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        say(f"acl.init: {path} cannot be read: {error.strerror}")
        return ReturnCode.INVALID_FILE, None
    text = _readable(data)
    if text is None:
        say(f"acl.init: {path} is no JSON object of at most {_MOST_DEPTH} levels")
        return ReturnCode.PARSE_FILE, None
    if json.loads(text).get("dump"):
        say(f"acl.init: {path}: dump is not simulated: no tensors of operators are written")
    home = str(Path(sys.argv[0] or ".").resolve().parent if sys.argv else Path.cwd())
    home = home if os.access(home, os.W_OK | os.X_OK) else str(Path.cwd())
    try:
        parsed = acl_json.parse_document(text, chip=chip.platform_version, strict=strict, executable_dir=home)
        if not parsed.enabled:
            return ReturnCode.SUCCESS, None
        directory = prepare_output(parsed.request.output.directory or home, fallback=home)
    except OptionError as error:
        for problem in error.problems:
            say(f"acl.init: {path}: {problem}")
        return ReturnCode.INVALID_PARAM, None
    for notice in parsed.notices:
        if notice.path != "output":  # which speaks of the executable
            say(f"acl.init: {notice.message}")
    return ReturnCode.SUCCESS, (parsed.request, directory)


def _readable(data: bytes) -> str | None:
    """Return the text of a JSON object that is no deeper than may be; ``None`` for anything else."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    bare = _STRING.sub("", text)
    for opening, closing in ("{}", "[]"):
        depth = deepest = 0
        for character in bare:
            depth += (character == opening) - (character == closing)
            deepest = max(deepest, depth)
        if deepest > _MOST_DEPTH:
            return None
    try:
        return text if isinstance(json.loads(text), dict) else None
    except (ValueError, RecursionError):
        return None
