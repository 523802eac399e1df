"""The guard by itself, on packages made here; tests/packaging has it in real installations."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from drynpu import find_genuine

FACADE = """\
from __future__ import annotations

from drynpu import hand_over

if not hand_over(__name__, __file__):
    from vendor_x._facade import *
"""


def make_facade(folder: Path) -> Path:
    package = folder / "vendor_x"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FACADE)
    (package / "_facade.py").write_text("WHO = 'facade'\nprint('facade body ran')\n")
    (package / "profiler.py").write_text("WHO = 'facade profiler'\n")
    return folder


def make_genuine(folder: Path, body: str = "WHO = 'genuine'\n") -> Path:
    package = folder / "vendor_x"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(body)
    (package / "profiler.py").write_text("WHO = 'genuine profiler'\n")
    return folder


def run(code: str, *path: Path, before: str = "") -> str:
    """Run code in a fresh interpreter with these folders at the end of sys.path; return what it printed."""
    script = f"import sys\nsys.path.extend({[str(folder) for folder in path]!r})\n{textwrap.dedent(before)}\n{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SHOW = "import vendor_x; print(vendor_x.WHO)"


def test_the_facade_serves_where_nothing_genuine_is(tmp_path: Path) -> None:
    assert run(SHOW, make_facade(tmp_path / "ours")) == "facade body ran\nfacade"


@pytest.mark.parametrize("genuine_first", [True, False])
def test_a_genuine_package_wins_wherever_it_is_on_the_path(tmp_path: Path, genuine_first: bool) -> None:
    path = [make_facade(tmp_path / "ours"), make_genuine(tmp_path / "theirs")]
    assert run(SHOW, *(reversed(path) if genuine_first else path)) == "genuine"


def test_submodules_come_from_the_genuine_package_too(tmp_path: Path) -> None:
    path = (make_facade(tmp_path / "ours"), make_genuine(tmp_path / "theirs"))
    assert run("import vendor_x.profiler as p; print(p.WHO)", *path) == "genuine profiler"
    assert run("from vendor_x import profiler; print(profiler.WHO)", *path) == "genuine profiler"
    assert run("import vendor_x, sys; print(sys.modules['vendor_x'] is vendor_x, vendor_x.__file__)", *path) == (
        f"True {tmp_path}/theirs/vendor_x/__init__.py"
    )


def test_submodules_come_from_the_facade_where_nothing_genuine_is(tmp_path: Path) -> None:
    ours = make_facade(tmp_path / "ours")
    assert run("import vendor_x.profiler as p; print(p.WHO)", ours).endswith("facade profiler")


def test_a_folder_that_happens_to_have_the_name_does_not_win(tmp_path: Path) -> None:
    (tmp_path / "project" / "vendor_x").mkdir(parents=True)
    (tmp_path / "project" / "vendor_x" / "notes.txt").write_text("data of the user")
    ours = make_facade(tmp_path / "ours")
    assert run(SHOW, tmp_path / "project", ours).endswith("facade")
    assert run(SHOW, ours, tmp_path / "project").endswith("facade")


FINDER = """
import importlib.util
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "vendor_x":
            return importlib.util.spec_from_file_location(
                name, {file!r}, submodule_search_locations=[{folder!r}])
"""


@pytest.mark.parametrize("where", ["sys.meta_path.append(Finder)", "sys.meta_path.insert(0, Finder)"])
def test_a_genuine_package_behind_an_editable_finder_wins(tmp_path: Path, where: str) -> None:
    folder = make_genuine(tmp_path / "theirs") / "vendor_x"
    before = FINDER.format(file=str(folder / "__init__.py"), folder=str(folder)) + where
    ours = make_facade(tmp_path / "ours")
    assert run(SHOW, ours, before=before) == "genuine"
    assert run("import vendor_x.profiler as p; print(p.WHO)", ours, before=before) == "genuine profiler"


def test_a_finder_without_find_spec_is_passed_over(tmp_path: Path) -> None:
    path = (make_facade(tmp_path / "ours"), make_genuine(tmp_path / "theirs"))
    legacy = "sys.meta_path.insert(0, type('Legacy', (), {'find_module': staticmethod(lambda name, path: None)}))"
    assert run(SHOW, *path, before=legacy) == "genuine"


def test_two_copies_of_the_facade_do_not_hand_over_to_each_other(tmp_path: Path) -> None:
    copies = [make_facade(tmp_path / name) for name in ("base", "checkout")]
    assert run(SHOW, *copies) == "facade body ran\nfacade"
    assert run(SHOW, *copies, make_genuine(tmp_path / "theirs")) == "genuine"


def test_an_error_of_the_genuine_package_is_its_own(tmp_path: Path) -> None:
    theirs = make_genuine(tmp_path / "theirs", "raise ImportError('libhccl.so: cannot open shared object file')\n")
    code = """
try:
    import vendor_x
except ImportError as error:
    print(error, "vendor_x" in sys.modules)
"""
    assert run(code, make_facade(tmp_path / "ours"), theirs) == "libhccl.so: cannot open shared object file False"


def test_the_genuine_package_may_import_itself_while_it_starts(tmp_path: Path) -> None:
    theirs = make_genuine(tmp_path / "theirs", "import vendor_x.profiler\nWHO = vendor_x.profiler.WHO\n")
    assert run(SHOW, make_facade(tmp_path / "ours"), theirs) == "genuine profiler"


def test_other_threads_wait_until_the_genuine_package_is_complete(tmp_path: Path) -> None:
    body = "import threading, time\nstarted.set()\ntime.sleep(0.3)\nWHO = 'genuine'\n"
    theirs = make_genuine(tmp_path / "theirs", "from builtins import started\n" + body)
    code = """
import builtins, threading
builtins.started = threading.Event()
seen = []
def other():
    builtins.started.wait()
    import vendor_x
    seen.append(vendor_x.WHO)
thread = threading.Thread(target=other)
thread.start()
import vendor_x
thread.join()
print(seen)
"""
    assert run(code, make_facade(tmp_path / "ours"), theirs) == "['genuine']"


def test_find_genuine_tells_facades_from_the_rest(tmp_path: Path) -> None:
    ours, theirs = make_facade(tmp_path / "ours"), make_genuine(tmp_path / "theirs")
    show = "from drynpu import find_genuine; spec = find_genuine('vendor_x'); print(spec and spec.origin)"
    assert run(show, ours) == "None"
    assert run(show, ours, theirs) == str(theirs / "vendor_x" / "__init__.py")
    assert find_genuine("no_such_module_anywhere") is None
