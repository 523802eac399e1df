"""``drynpu run``: a script must not be able to tell it from ``python``, but for the facades and settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
TELL = """
import json, os, sys
print(json.dumps({
    "argv": sys.argv, "path": sys.path[0], "file": __file__, "name": __name__,
    "main": sys.modules["__main__"].__dict__ is globals(), "doc": __doc__,
    "environment": {k: v for k, v in os.environ.items() if k.startswith(("DRYNPU_", "KINETO", "TF_ENABLE", "TF_CPP"))},
}))
"""


def tell(ended: Any) -> dict[str, Any]:
    assert (ended.code, ended.err) == (0, "")
    told: dict[str, Any] = json.loads(ended.out)
    return told


def script(folder: Path, text: str, name: str = "script.py") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def plain_python(tmp_path: Path, *arguments: str) -> Any:
    return subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)


def test_a_script_sees_what_python_would_show_it(process: Run, tmp_path: Path) -> None:
    script(tmp_path / "sub", TELL)
    arguments = ("sub/script.py", "--chip", "x", "-m", "--", "--lr=3")
    told = tell(process("run", *arguments))
    expected = json.loads(plain_python(tmp_path, *arguments).stdout)
    for key in ("argv", "path", "file", "name", "main", "doc"):
        assert told[key] == expected[key], key
    assert told["argv"] == list(arguments)


def test_a_module_as_with_python_m(process: Run, tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tool.py").write_text(TELL + "print(__package__)")
    (package / "__main__.py").write_text("from pkg import tool")
    expected = plain_python(tmp_path, "-m", "pkg.tool", "--lr", "3").stdout.splitlines()
    ended = process("run", "-m", "pkg.tool", "--lr", "3")
    told, package_name = ended.out.splitlines()
    for key in ("argv", "path", "file", "name", "main"):
        assert json.loads(told)[key] == json.loads(expected[0])[key], key
    assert package_name == expected[1] == "pkg"
    assert process("run", "-m", "pkg").code == 0


def test_a_safe_path_stays_safe(process: Run, tmp_path: Path) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("Python 3.11 and newer have safe paths")
    script(tmp_path / "sub", TELL)
    # The package itself is installed as a path line, so it is found without the current directory.
    told = tell(process("run", "sub/script.py", python=("-P",)))
    assert told["path"] == json.loads(plain_python(tmp_path, "-P", "sub/script.py").stdout)["path"]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("raise SystemExit(3)", 3, ""),
        ("import sys; sys.exit('no luck')", 1, "no luck\n"),
        ("import sys; sys.exit()", 0, ""),
        ("import os; os._exit(9)", 9, ""),
    ],
)
def test_the_scripts_exit_code_is_kept(process: Run, tmp_path: Path, text: str, code: int, message: str) -> None:
    script(tmp_path, text)
    ended = process("run", "script.py")
    assert (ended.code, ended.err) == (code, message)


@pytest.mark.parametrize(
    "text",
    [
        "def fail():\n    raise ValueError('from the script')\n\nfail()\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('second') from error\n",
        "x = (\n",
        "import a_module_that_is_missing\n",
        "import runpy\nrunpy.run_path('other.py')\n",
        "from drynpu import OptionError\nraise OptionError(['shown as an error of the script'])\n",
    ],
)
def test_an_error_of_the_script_is_shown_as_python_shows_it(process: Run, tmp_path: Path, text: str) -> None:
    path = script(tmp_path, text)
    script(tmp_path, "raise RuntimeError('inside')", "other.py")
    ended = process("run", "script.py")
    expected = plain_python(tmp_path, str(path))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == expected.stderr
    assert "drynpu/cli" not in ended.err


def test_the_traceback_of_a_wrong_option_ends_in_the_script(process: Run, tmp_path: Path) -> None:
    text = 'from drynpu.options.profiling_options import parse\n\nparse(\'{"output": ".", "task_trace": "maybe"}\')\n'
    ended = process("run", str(script(tmp_path, text)))
    lines = ended.err.splitlines()
    assert [line.strip() for line in lines if line.startswith("  File ")] == [
        f'File "{tmp_path / "script.py"}", line 3, in <module>'
    ]
    assert lines[-1].startswith("drynpu._errors.OptionError: task_trace: EK0001 value 'maybe' refused")


def test_the_main_module_lasts_as_long_as_the_process(process: Run, tmp_path: Path) -> None:
    """Spawned children import it by its file, pickles name its classes, exit handlers still see it."""
    script(
        tmp_path,
        "import atexit, multiprocessing, pickle, sys\n"
        "class Point:\n    pass\n"
        "def double(x):\n    return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    atexit.register(lambda: print(type(pickle.loads(pickle.dumps(Point()))) is Point))\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(double, [1, 2]))\n",
    )
    ended = process("run", "script.py")
    assert (ended.code, ended.out, ended.err) == (0, "[2, 4]\nTrue\n", "")


def test_future_imports_of_the_command_are_not_the_scripts(process: Run, tmp_path: Path) -> None:
    script(tmp_path, "def f(x: int): ...\nprint(f.__annotations__['x'] is int)\n")
    assert process("run", "script.py").out == "True\n"


def test_the_scripts_own_hook_sees_its_error(process: Run, tmp_path: Path) -> None:
    script(tmp_path, "import sys\nsys.excepthook = lambda *a: print('hooked', a[0].__name__)\nraise ValueError\n")
    ended = process("run", "script.py")
    assert (ended.code, ended.out, ended.err) == (1, "hooked ValueError\n", "")


def test_ctrl_c_ends_it_as_it_ends_python(tmp_path: Path) -> None:
    script(tmp_path, "import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "drynpu", "run", "script.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        time.sleep(0.1)
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=30)
    assert started.returncode == 130
    assert err.endswith("KeyboardInterrupt\n")
    assert "script.py" in err
    assert "Aborted" not in err
    assert "drynpu/cli" not in err


def test_settings_reach_the_script(process: Run, tmp_path: Path) -> None:
    script(tmp_path, TELL)
    plain = tell(process("run", "script.py"))["environment"]
    assert plain == {
        "DRYNPU_AUTOLOAD": "1",
        "DRYNPU_BUILD": "1",
        "KINETO_LOG_LEVEL": "99",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }
    options = ["--chip", "910b4", "--clock", "wall", "--seed", "7", "--devices", "2", "--strict", "-q"]
    given = tell(process("run", *options, "script.py", environment={"KINETO_LOG_LEVEL": "3", "DRYNPU_SEED": "1"}))
    assert given["environment"] == {
        "DRYNPU_AUTOLOAD": "1",
        "DRYNPU_BUILD": "1",
        "DRYNPU_CHIP": "910b4",
        "DRYNPU_CLOCK": "wall",
        "DRYNPU_SEED": "7",
        "DRYNPU_DEVICES": "2",
        "DRYNPU_STRICT": "1",
        "DRYNPU_QUIET": "1",
        "KINETO_LOG_LEVEL": "3",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nowhere.py",), 2, "drynpu: no such script: nowhere.py"),
        (("sub",), 2, "drynpu: sub is a directory, not a script"),
        (("--chip", "910B7", "script.py"), 1, "drynpu: unknown chip '910B7'"),
        (("--devices", "64", "script.py"), 1, "drynpu: DRYNPU_DEVICES: '64'"),
        (("--seed", "-4", "script.py"), 1, "drynpu: DRYNPU_SEED: '-4'"),
        (("--clock", "sundial", "script.py"), 2, "'sundial' is not one of 'projected', 'modelled', 'wall'"),
    ],
)
def test_what_cannot_be_run_is_told_before_the_script_starts(
    process: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    script(tmp_path, "print('started')")
    (tmp_path / "sub").mkdir()
    ended = process("run", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_a_misspelt_setting_is_noticed(process: Run, tmp_path: Path) -> None:
    script(tmp_path, "print('started')")
    ended = process("run", "script.py", environment={"DRYNPU_CHIPS": "910B1"})
    assert (ended.code, ended.out) == (0, "started\n")
    assert "DRYNPU_CHIPS is not a setting of drynpu" in ended.err
    assert "DRYNPU_CHIP'?" in ended.err


def test_facades_are_served_where_no_pth_is_read(process: Run, tmp_path: Path) -> None:
    """With ``-S`` no site-packages and no ``.pth`` are read; children find the facades through PYTHONPATH."""
    script(
        tmp_path,
        "import importlib.util, os, subprocess, sys\n"
        "print(importlib.util.find_spec('torch_npu').origin)\n"
        "code = 'import importlib.util; print(importlib.util.find_spec(\"torch_npu\").origin)'\n"
        "subprocess.run([sys.executable, '-S', '-c', code], check=True)\n",
    )
    kept = [entry for entry in sys.path if entry and not entry.endswith("vendor")]
    ended = process("run", "script.py", environment={"PYTHONPATH": os.pathsep.join(kept)}, python=("-S", "-u"))
    assert (ended.code, ended.err) == (0, "")
    origins = ended.out.splitlines()
    assert len(origins) == 2
    assert origins[0] == origins[1]
    assert Path(origins[0]).parts[-2:] == ("torch_npu", "__init__.py")


RECORDS = """
import os, sys
from drynpu.kernels import Call, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Output, ProfilingRequest
from drynpu.recorder import Recorder
from drynpu.simulate import Recording
from pathlib import Path

tensor = TensorDesc((64, 32), "FLOAT16")
kernel = KernelSpec(name="k", op_type="Mul", task_type=TaskType.AI_VECTOR_CORE, outputs=(tensor,), vector_ops=2048)
print("said by", sys.argv[1:])
recorder = Recorder.open("neutral", ProfilingRequest(output=Output(analyse=False)))
recorder.start()
recorder.stop()
signature = Signature("K", (tensor,))
starts_ns = [recorder.begin_ns + 1000 + 9000 * number for number in range(int(sys.argv[1]))]
calls = [Call(signature, start_ns, start_ns + 5000, 77) for start_ns in starts_ns]
recording = Recording(
    operators=Operators.from_calls(calls), begin_ns=recorder.begin_ns, end_ns=starts_ns[-1] + 9000
)
recorder.write({0: recording}, lambda _: KernelPlan(kernels=(kernel,)), Path.cwd(), host_data=False)
recorder.deliver()
if sys.argv[2:]:
    import subprocess
    subprocess.run([sys.executable, __file__, "5"], check=True)
    sys.exit(int(sys.argv[2]))
"""


@pytest.mark.slow
def test_json_has_the_results_of_all_processes_and_the_status(process: Run, tmp_path: Path) -> None:
    script(tmp_path, RECORDS)
    ended = process("run", "--json", "--chip", "Ascend910B3", "script.py", "3", "4")
    document = json.loads(ended.out)
    assert (ended.code, document["exit_code"], document["command"]) == (4, 4, ["script.py", "3", "4"])
    assert "said by ['3', '4']" in ended.err
    assert [each["kernel_count"] for each in document["results"]] == [3, 5]
    assert {each["chip"] for each in document["results"]} == {"Ascend910B3"}
    assert [Path(each["path"]) for each in document["results"]] == sorted(tmp_path.glob("PROF_*"), key=os.path.getctime)
    assert document["unread"] == []


def test_json_of_a_script_that_leaves_nothing_or_is_killed(process: Run, tmp_path: Path) -> None:
    script(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    ended = process("run", "--json", "script.py")
    document = json.loads(ended.out)
    assert (ended.code, document["exit_code"], document["results"]) == (137, 137, [])


@pytest.mark.slow
def test_json_names_a_result_that_cannot_be_read(process: Run, tmp_path: Path) -> None:
    damage = "\nimport shutil\nfor path in Path.cwd().glob('PROF_*'):\n    shutil.rmtree(path)\n    path.mkdir()\n"
    script(tmp_path, RECORDS + damage)
    document = json.loads(process("run", "--json", "script.py", "2").out)
    assert (document["exit_code"], document["results"]) == (0, [])
    assert [Path(each["path"]).parent for each in document["unread"]] == [tmp_path], document["results"]
    assert document["unread"][0]["error"]
