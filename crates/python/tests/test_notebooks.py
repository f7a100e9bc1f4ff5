"""The notebooks run, with parameters that make them quick."""

from __future__ import annotations

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

QUICK = {
    "compare": "seeds = 2\nduration = '20s'",
    "capture": "captures = ['office.pcapng']\nlocal = ['10.2.0.0/16']\nrate = '2mbit'",
    "reproduce": "quick = True",
    "sweep": "rates = ['1mbit', '4mbit']\ndelays = ['5ms', '45ms']\nloads = [0.9]\nseeds = 3\nduration = '5s'",
}
"""What replaces the values of the cell with the tag `parameters`."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, capture, tmp_path) -> None:
    notebook = nbformat.read(path, as_version=4)
    (tmp_path / "office.pcapng").symlink_to(capture)
    places = [place for place, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])]
    assert len(places) == 1, "expected one cell with the tag parameters"
    notebook.cells.insert(places[0] + 1, nbformat.v4.new_code_cell(QUICK[path.stem]))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = "".join(str(cell.get("outputs", "")) for cell in notebook.cells)
    assert "<table" in shown
    assert "image/png" in shown
    assert "stderr" not in shown, "a cell printed a warning"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_results(path) -> None:
    """Differences stay readable, and no number in them is of another version."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert not cell.outputs, f"{path.name}: clear all outputs before you commit"
            assert cell.execution_count is None
