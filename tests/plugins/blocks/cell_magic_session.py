"""Cells as a notebook's kernel runs them; `test_cell_magic.py` starts it and reads what it shows."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")


def run(cell):
    print("---", cell.splitlines()[0], flush=True)
    return shell.run_cell(cell, store_history=True)


run("%load_ext drynpu\nimport torch, torch_npu\nmodel = torch.nn.Linear(256, 8).npu()").raise_error()

done = run("""%%npu_profile fit -o kept
for _ in range(3):
    model(torch.ones(32, 256).npu()).sum().backward()
    fit.step()
after = torch.ones(2).npu()
after.device.type""")
assert done.result == "npu", done.result
fit = shell.user_ns["fit"]
assert shell.user_ns["after"].sum().item() == 2
assert fit.summary.steps.height == 3
assert fit.kernels["MatMulV2"] == 6, fit.kernels  # forward and the weight's gradient; the input needs none
assert (fit.path / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").is_file()
assert fit.path.parent.name == "kept"
assert "MatMulV2" in fit._repr_html_()
assert fit.run.tables["kernels"].height == fit.kernel_count

first = fit.path
run("%%npu_profile fit -o kept -q\nmodel(torch.ones(2, 256).npu()).sum()")
assert shell.user_ns["fit"].path != first
assert "MatMulV2" in shell.user_ns["fit"].kernels

broken = run("""%%npu_profile
hidden = torch.ones(64, 64).npu() @ torch.ones(64, 64).npu()
raise ValueError("wrong batch")""")
assert isinstance(broken.error_in_exec, ValueError), broken
assert shell.user_ns["npu_profile"].kernels["MatMulV2"] == 1

run("%%npu_profile --framework jax\n1")
run("%%npu_profile --speed 2\n1")
print("--- all is well")
