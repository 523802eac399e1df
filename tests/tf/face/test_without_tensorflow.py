"""Where TensorFlow is not installed, the adapter still serves every script that ``drynpu run`` starts."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["tensorflow"] = None
import drynpu_tf.face
print(sorted(name for name in sys.modules if name.startswith("tensorflow.")))
"""


def test_the_face_is_imported_without_tensorflow() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
