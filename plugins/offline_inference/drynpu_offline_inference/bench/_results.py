"""Files of results, one for each output of each file that came in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from drynpu.arrays import Array
from drynpu_offline_inference.bench._files import PADDING
from drynpu_offline_inference.bench._log import refuse
from drynpu_offline_inference.bench._summary import Summary

FOLDER_MODE = 0o750
"""Of the folders that the tool makes."""


def save_data_to_files(file_path: str, ndata: Array) -> None:
    """Write an array as its suffix says: npy, txt with a line for each row, else its bytes."""
    suffix = Path(file_path).suffix.lower()
    if suffix == ".npy":
        np.save(file_path, ndata)
    elif suffix == ".txt":
        form = "%f" if ndata.dtype.kind == "f" else "%d"
        rows = ndata.reshape(-1, ndata.shape[-1] if ndata.ndim else 1)
        lines = (" ".join(form % value for value in row) + " \n" for row in rows.tolist())
        Path(file_path).write_text("".join(lines), encoding="utf-8")
    else:
        ndata.tofile(file_path)


def save_results(
    outputs: Sequence[object],
    folder: str,
    row: Sequence[Sequence[str]],
    form: str,
    index: int,
    axis: int,
    summary: Summary,
) -> None:
    """
    Write the results of one run and note them in the summary.

    Parameters
    ----------
    row:
        The files of each input; the results are split among the files of the first along *axis*.
    index:
        Number of the run.

    Raises
    ------
    RuntimeError
        An output cannot be split.
    """
    files = row[0]
    for number, output in enumerate(outputs):
        array = np.array(output)
        if axis >= array.ndim or (len(files) > 1 and array.shape[axis] % len(files)):
            raise refuse(
                f"output {number} of shape {array.shape} cannot be split among {len(files)} files along axis {axis} "
                "(--output_batchsize_axis)"
            )
        for place, part in enumerate(np.array_split(array, len(files), axis)):
            if files[place] == PADDING:
                continue
            path = str(Path(folder, f"{Path(files[place]).name.split('.')[0]}_{number}.{form.lower()}"))
            sample = index * len(files) + place
            summary.add_sample_id_infiles(sample, [column[place] for column in row])
            summary.append_sample_id_outfile(sample, path)
            save_data_to_files(path, part)
