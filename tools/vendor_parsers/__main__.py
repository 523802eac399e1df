"""
Compare what the vendor's parsers make of our records with our own deliverables.

    python tools/vendor_parsers --msprof CHECKOUT [--every] [--chips ...] [--frameworks ...] [--markdown FILE]
    python tools/vendor_parsers --torch-npu CHECKOUT [--every] [--chips ...] [--markdown FILE]

The first is a checkout of Ascend/msprof with its folder ``analysis``, and PROF directories are compared; the second one
of Ascend/pytorch with ``torch_npu/profiler``, ``torch_npu/utils`` and ``torch_npu/_init``, and runs of torch_npu's
profiler are. Nothing is written into either. Recordings and exports stay below ``--folder``. Ends with 1 if anything
differs for which there is no reason (reasons.py).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from comparison import Result, compare
from databases import compare_databases
from parsers import RESULTS, commit_of, export_msprof
from reasons import page_lines, reasons_of
from recordings import CHIPS, FRAMEWORKS, Case, all_cases, record
from run_comparison import compare_runs
from torch_runs import OUTPUT, Run, all_runs, rebuild, record_run

from drynpu.products import export_msprof as export_ours
from drynpu.products import export_msprof_db as export_database
from drynpu.products import load_profile


def main() -> int:
    """Run all comparisons, print them, and say whether everything is equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parsers = parser.add_mutually_exclusive_group(required=True)
    parsers.add_argument("--msprof", type=Path, help="checkout of Ascend/msprof")
    parsers.add_argument("--torch-npu", type=Path, help="checkout of Ascend/pytorch")
    parser.add_argument("--folder", type=Path, default=Path("vendor_parsers_out"), help="default: ./%(default)s")
    parser.add_argument("--chips", nargs="+", default=list(CHIPS))
    parser.add_argument("--frameworks", nargs="+", default=list(FRAMEWORKS), choices=FRAMEWORKS)
    parser.add_argument("--every", action="store_true", help="all levels and all groups of counters")
    parser.add_argument("--markdown", type=Path, help="write the table there as well")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    if arguments.msprof:
        title = f"Ascend/msprof {commit_of(arguments.msprof)}"
        cases = all_cases(arguments.chips, arguments.frameworks, every=arguments.every)
        table = [_compared(case, arguments.msprof.resolve(), folder) for case in cases]
    else:
        title = f"Ascend/pytorch {commit_of(arguments.torch_npu)}"
        runs = all_runs(arguments.chips, every=arguments.every)
        table = [_compared_run(run, arguments.torch_npu.resolve(), folder) for run in runs]
    if arguments.markdown:
        lines = [title, "", *page_lines([(case.name, errors, results) for case, errors, results in table])]
        arguments.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    equal = sum(not errors and all(result.same for result in results) for _, errors, results in table)
    others = [text for _, errors, results in table for text in reasons_of(errors, results)[1]]
    _say(title, f"{len(table)} recordings, {equal} equal in every row; {len(others)} differences without a reason")
    return 1 if others else 0


Compared = tuple[Case | Run, tuple[str, ...], list[Result]]


def _compared(case: Case, checkout: Path, folder: Path) -> Compared:
    errors: list[str] = []
    results: list[Result] = []
    try:
        directories = record(case, folder / case.name / "ours")
    except RuntimeError as error:
        directories, errors = [], [str(error)]
    for prof in directories:
        theirs = export_msprof(checkout, prof, folder / case.name / "theirs")
        if not (prof / RESULTS).is_dir():
            export_ours(load_profile(prof))
        errors += theirs.errors
        export_database(load_profile(prof))
        databases = compare_databases(prof, theirs.prof)
        results += [*compare(prof / RESULTS, theirs.files), *([] if databases is None else [databases])]
    return _print_case(case, tuple(errors), results)


def _compared_run(run: Run, checkout: Path, folder: Path) -> Compared:
    errors: list[str] = []
    results: list[Result] = []
    try:
        directories = record_run(run, folder / run.name / "ours")
    except RuntimeError as error:
        directories, errors = [], [str(error)]
    for directory in directories:
        theirs, lines = rebuild(checkout, directory, folder / run.name / "theirs")
        errors += lines
        results += compare_runs(directory / OUTPUT, theirs)
    return _print_case(run, tuple(errors), results)


def _print_case(case: Case | Run, errors: tuple[str, ...], results: list[Result]) -> Compared:
    _say(f"== {case.name}", *(f"   ERROR {line}" for line in errors))
    for result in results:
        _say(f"   {result.file}: {result.equal} of {result.rows} rows", *(f"      {of}" for of in result.differences))
    return case, errors, results


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
