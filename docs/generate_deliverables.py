"""
Run every option on every chip, and write what each leaves as the table docs/deliverables.md.

``python docs/generate_deliverables.py`` writes the page, ``--check`` only compares; both end with status 1 and one line
per problem where a run and the prediction of ``drynpu.options.deliverables`` (``drynpu check``) disagree. ``--found
FILE`` also writes what was found as JSON, for the tests.

Each cell is one run of examples/core/neutral_session.py with that option alone, so that there is nothing to maintain
here but the list of options. It takes about half a minute on two cores.
"""
# ruff: noqa: INP001

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # tables of ten rows: threads cost more than they save

from attrs import define, field
from deliverable_runs import CHIPS, Found, Runs, default_of, rows, run_column

from drynpu.deliverables.unmodelled.records import UNMODELLED
from drynpu.options import Needs

Calls = Mapping[str, Sequence[str]]

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "deliverables.md"

_NETWORK, _DISK = (
    "only where the host has a network card; the layer where its speed is known",
    "only where the kernel counts what a process reads and writes; the layer where it counts waiting for disks",
)
HOST_DEPENDENT = {
    **dict.fromkeys(("host_network_usage", "Network Usage", "HOST_NETWORK_USAGE"), _NETWORK),
    **dict.fromkeys(("host_disk_usage", "Disk Usage", "HOST_DISK_USAGE"), _DISK),
}
"""What some machines have no numbers for -> when: a page that is the same on all of them has the prediction alone."""
NOT_IN_THE_LAYER = (Needs.FUSION_TASKS, Needs.DYNAMIC_SHAPES)
"""What the example has none of."""
ROWS = {"AscendCL rows": "acl", "runtime rows": "runtime", "communication rows": "communication"}
"""Rows of api_statistic as the prediction names them -> their level; those of GE no run of the example has."""

HEAD = """# Which option leaves which deliverable

<!-- Written by docs/generate_deliverables.py; do not edit. After a merge, or a change of options or exporters, run

    python docs/generate_deliverables.py

A test runs it with --check. -->

Each cell is a run of [`examples/core/neutral_session.py`](../examples/core/neutral_session.py) on that chip with that
option alone: a layer of a transformer with an AI CPU operator, a copy, collectives, marks, a compiled graph and a
data queue. The first row shows what `{"output": ...}` leaves, the others what the option adds to it (for a flag of
`msprof` or a key of acl.json: to what those leave without it): csv files of `mindstudio_profiler_output` without time
stamp, json files, layers of `msprof_*.json` (`application` is the process), tables of `msprof_*.db` without `ENUM_*`.
`-` means that it adds nothing. A number in brackets refers to a reason below.

`drynpu check` predicts the files of an option for a chip; a test compares each run with the prediction. Where a
result depends on the machine, the cell shows the prediction with its condition.

`storage_limit`, `fp_point`, `bp_point`, `optype` and `host_sys_usage_freq` decide what goes into files of other
options and leave no files themselves: [options.md](options.md)."""
NOTHING_OWN = "the vendor's documents name no further deliverable of this option on this chip"
REASONS_HEAD = "Refusals are messages of the option reader, without the chip and the allowed values."


# -- run against prediction ------------------------------------------------------------------------------------------


def missing(run: Found) -> dict[str, str]:
    """Return what was predicted and is not there -> why; an empty reason is a disagreement."""
    notes = dict(note.split(" is not written: ", 1) for note in run["notes"] if " is not written: " in note)
    left = _names(run)
    reasons = {}
    for row in run["predicted"]:
        name, need = row["name"], Needs[row["needs"]]
        if row["kind"] == "rows":
            if ROWS.get(row["detail"]) not in run["calls"]:
                reasons[row["detail"]] = f"only where {need.value}" if need in NOT_IN_THE_LAYER else ""
            continue
        if row["kind"] == "columns" or (row["kind"], name) in left or name in HOST_DEPENDENT:
            continue
        if row["kind"] in ("db", "txt", "json") and not left:
            continue  # without any data there is nothing to list
        reasons[name] = (
            notes.get(name) or UNMODELLED.get(name) or (f"only where {need.value}" if need in NOT_IN_THE_LAYER else "")
        )
    return reasons


def problems(runs: Runs) -> Iterator[str]:
    """Yield a line for every disagreement of a run with the prediction, or with its own notes."""
    for column, cells in runs.items():
        for title, run in cells.items():
            if "refused" in run:
                continue
            place = f"{title} on {column}"
            known = {(row["kind"], row["name"]) for row in run["predicted"]}
            known |= {("csv", row["name"]) for row in run["predicted"] if row["kind"] == "rows"}
            for kind, name in sorted(_names(run) - known):
                yield f"{place}: {name} ({kind}) is there, but is not predicted"
            yield from (f"{place}: {name} is predicted, but not there" for name, why in missing(run).items() if not why)
            for note in run["notes"]:
                name = note.partition(" is not written: ")[0]
                if name in {left for _, left in _names(run)}:
                    yield f"{place}: {name} is there, but is said not to be: {note}"
            counted = any(row["kind"] == "columns" for row in run["predicted"])
            excused = "ai_core_utilization" in missing(run) or any("No counters" in note for note in run["notes"])
            if counted != bool(counter_columns(run)) and not excused:
                yield f"{place}: counter columns of op_summary: predicted {counted}, there {not counted}"


def _names(run: Found) -> set[tuple[str, str]]:
    """Return what is there as kind and name, as the prediction has it; the analyses below analyze/ it does not have."""
    kinds = {"csv": run["csv"], "layer": run["layers"], "txt": run["txt"]}
    kinds["json"] = [name for name in run["json"] if "/" not in name]
    names = {(kind, name) for kind, of in kinds.items() for name in of if name not in HOST_DEPENDENT}
    return names | ({("db", "msprof")} if run["tables"] else set())


def counter_columns(run: Found) -> list[str]:
    """Return the columns of op_summary behind those that every op_summary has."""
    header = run["csv"].get("op_summary", [])
    lead = max((header.index(name) for name in ("Output Formats", "Context ID") if name in header), default=len(header))
    return list(header[lead + 1 :])


# -- the page --------------------------------------------------------------------------------------------------------


@define
class Reasons:
    """Footnotes, numbered as they come."""

    texts: dict[str, int] = field(factory=dict)

    def mark(self, text: str) -> str:
        """Return the number of a text in brackets."""
        return f"[{self.texts.setdefault(text, len(self.texts) + 1)}]"


def cell(run: Found, default: Found, reasons: Reasons) -> str:
    """Return what one run left beyond *default*, one line per kind; everything where it is the default."""
    if "refused" in run:
        return f"refused {reasons.mark(_short(run['refused'][0]))}"
    base: Found = {} if run is default else default
    lines = []
    for title, key in (("", "csv"), ("json: ", "json"), ("layers: ", "layers"), ("db: ", "tables")):
        names = [name for name in run[key] if name not in base.get(key, ()) and not _set_aside(key, name)]
        if names:
            lines.append(title + ", ".join(f"`{name}`" if key == "csv" else name for name in names))
    columns = len(counter_columns(run)) - len(counter_columns(base) if base else [])
    if columns > 0:
        lines.append(f"`op_summary`: {columns} counter columns")
    if base.get("calls"):
        lines += _more_calls("rows of", run["calls"], base["calls"])
    lines += _absent(run, base, reasons)
    lines += _of_host(run, base, reasons)
    if base:
        lines += [reasons.mark(notice) for notice in run["notices"]]
        lines += [reasons.mark(_short(note)) for note in run["notes"] if "No counters" in note]
    if not lines and _distinct(run) <= _distinct(base):
        return f"- {reasons.mark(NOTHING_OWN)}"
    return "<br>".join(lines) or "-"


def _of_host(run: Found, base: Found, reasons: Reasons) -> Iterator[str]:
    """Yield what the run leaves on some machines, as it is predicted."""
    known = {row["name"] for row in base.get("predicted", ())}
    names = [row["name"] for row in run["predicted"] if row["name"] in HOST_DEPENDENT and row["name"] not in known]
    for why in dict.fromkeys(HOST_DEPENDENT[name] for name in names):
        shown = (f"`{name}`" if "_" in name else name for name in names if HOST_DEPENDENT[name] == why)
        yield f"{', '.join(shown)} {reasons.mark(why)}"


def _distinct(run: Found) -> set[tuple[str, ...]]:
    return {(row["kind"], row["name"], row["detail"]) for row in run["predicted"]}


def _more_calls(title: str, calls: Calls, base: Calls) -> Iterator[str]:
    """Yield which levels of api_statistic have calls that *base* has not."""
    new = {level: [name for name in names if name not in base.get(level, ())] for level, names in calls.items()}
    levels = [level if level not in base else f"{level} ({', '.join(new[level])})" for level in new if new[level]]
    if levels:
        yield f"`api_statistic`: {title} {', '.join(levels)}"


def _absent(run: Found, base: Found, reasons: Reasons) -> Iterator[str]:
    """Yield what *base* has beyond the run, and what is predicted of it and is not there."""
    for title, key in (("without ", "csv"), ("without json: ", "json"), ("without layers: ", "layers")):
        gone = [f"`{name}`" if key == "csv" else name for name in base.get(key, ()) if name not in run[key]]
        if gone and not run[key]:
            gone = ["all"]
        if gone:
            yield title + ", ".join(gone)
    if run["calls"]:
        yield from _more_calls("without rows of", base.get("calls", {}), run["calls"])
    known = missing(base) if base else {}
    new = {name: why for name, why in missing(run).items() if name not in known}
    for why in dict.fromkeys(new.values()):
        yield f"not {', '.join(name for name, its in new.items() if its == why)} {reasons.mark(why)}"


def _set_aside(key: str, name: str) -> bool:
    """Whether a page that is the same on every machine leaves a name out; the tables that every database has."""
    return name in HOST_DEPENDENT or (key == "tables" and name.startswith("ENUM_"))


def _short(problem: str) -> str:
    """Return a message without what differs from chip to chip."""
    problem = re.sub(r"Please input in the range of .*\((.*) on \w+\S*\)", r"\1", problem)
    return re.sub(r" on Ascend\S+?(?=;|$)|; (chips with it|available): .*$", "", problem)


def render(runs: Runs) -> str:
    """Return the page."""
    reasons = Reasons()
    lines = [HEAD, "", f"| option | {' | '.join(runs)} |", "| --- |" + " --- |" * len(runs)]
    for title in rows():
        cells = [cell(by_title[title], by_title[default_of(title)], reasons) for by_title in runs.values()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines += ["", "## Reasons", "", REASONS_HEAD, ""]
    lines += [f"{number}. {text}" for text, number in reasons.texts.items()]
    lines += ["", "## Header lines", "", "First lines of the csv files. Where they differ, the chips are named.", ""]
    lines += _headers(runs)
    lines += ["", "## Counter columns", "", "What `aic_metrics` adds to the end of `op_summary`.", ""]
    lines += _counters(runs)
    return "\n".join(lines) + "\n"


def _headers(runs: Runs) -> Iterator[str]:
    headers: dict[str, dict[str, list[str]]] = {}
    for column, cells in runs.items():
        for run in cells.values():
            for stem, header in run.get("csv", {}).items():
                if stem in HOST_DEPENDENT:
                    continue
                lead = header[: len(header) - len(counter_columns(run))] if stem == "op_summary" else header
                chips = headers.setdefault(stem, {}).setdefault(",".join(lead), [])
                if column not in chips:
                    chips.append(column)
    for stem in sorted(headers):
        for header, chips in headers[stem].items():
            where = "" if len(headers[stem]) == 1 else f" ({', '.join(chips)})"
            yield f"- `{stem}`{where}: `{header}`"


def _counters(runs: Runs) -> Iterator[str]:
    for title in rows():
        if "aic_metrics" not in title:
            continue
        chips_by_columns: dict[str, list[str]] = {}
        for column, cells in runs.items():
            columns = counter_columns(cells[title]) if "refused" not in cells[title] else []
            if columns:
                chips_by_columns.setdefault(",".join(columns), []).append(column)
        yield from (f"- {title} ({', '.join(chips)}): `{columns}`" for columns, chips in chips_by_columns.items())


def main() -> None:
    """Run, check, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    parser.add_argument("--found", type=Path, help="also write what was found, as JSON")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write or to compare with")
    arguments = parser.parse_args()
    workers = min(len(CHIPS), os.cpu_count() or 1)
    # Spawned: polars has threads, which a fork would lose.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        runs = dict(zip(CHIPS, pool.map(run_column, CHIPS), strict=True))
    if arguments.found:
        arguments.found.write_text(json.dumps(runs), encoding="utf-8")
    wrong, page = list(problems(runs)), render(runs)
    if not arguments.check:
        arguments.page.write_text(page, encoding="utf-8")
    elif not arguments.page.is_file() or arguments.page.read_text(encoding="utf-8") != page:
        wrong.append(f"{arguments.page.name} is not up to date; run python docs/generate_deliverables.py")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
