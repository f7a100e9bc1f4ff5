"""The package as users meet it: what is documented, shown, and told while it works."""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import gentle
import nbformat
from gentle import _core
from nbclient import NotebookClient
from reference import PAGE, reference


def test_every_public_name_has_documentation() -> None:
    for name in gentle.__all__:
        public = getattr(gentle, name)
        assert name == "__version__" or inspect.getdoc(public), name
        if inspect.isclass(public):
            for member, value in vars(public).items():
                assert member.startswith("_") or inspect.getdoc(value), f"{name}.{member}"


def test_types_of_the_compiled_module_are_complete() -> None:
    """Every name of the module and of its classes is in the stub, and the other way round."""
    stub = ast.parse((Path(gentle.__file__).parent / "_core.pyi").read_text())

    def named(body: list[ast.stmt]) -> dict[str, ast.stmt]:
        defined = {node.name: node for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        return {name: node for name, node in defined.items() if not name.startswith("__")}

    def public(thing: object) -> set[str]:
        return {name for name in vars(thing) if not name.startswith("__")}

    stubs = named(stub.body)
    assert set(stubs) == public(_core)
    for name, node in stubs.items():
        found = getattr(_core, name)
        if isinstance(node, ast.ClassDef) and not issubclass(found, Exception):
            assert set(named(node.body)) == public(found), name
        elif isinstance(node, ast.FunctionDef):
            expected = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
            assert list(inspect.signature(found).parameters) == expected, name


def test_the_wheel_is_built_by_the_version_of_the_tests() -> None:
    crate = Path(__file__).resolve().parents[1]
    fixed = (crate / "tests/requirements.txt").read_text().split()
    needed = [word for word in (crate / "build-requirements.txt").read_text().split() if "==" in word]
    assert needed
    assert all(word in fixed for word in needed)


def test_a_terminal_shows_progress() -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    code = "import gentle; gentle.compare('real', ['codel', 'spa'], duration='1000s', seeds=2)"
    shown = b""
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs) as process:
        os.close(theirs)
        # Reading fails once the other end is closed, which is when the process has ended.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 4096):
                shown += piece
    os.close(ours)
    assert process.returncode == 0
    assert b"comparing under real:" in shown
    assert b"%|" in shown


def test_a_notebook_shows_progress_and_results() -> None:
    code = "import gentle\ngentle.compare('real', ['codel', 'spa'], duration='1000s', seeds=2)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, timeout=60, store_widget_state=True).execute()
    bar, result = notebook.cells[0].outputs
    assert bar.data["text/plain"].startswith("comparing under real:")
    assert "FloatProgressModel" in str(notebook.metadata.widgets)
    assert "<table" in result.data["text/html"]


def test_results_name_themselves() -> None:
    comparison = gentle.compare("short", ["codel"], duration="5s", seeds=1)
    assert repr(comparison) == "<gentle.Comparison of codel under short>"
    assert repr(comparison.runs).startswith("<gentle.Table of ")
    assert repr(gentle.model(rtt=0.2, loss=0.01)) == "<gentle.Prediction for an RTT of 0.2 s and a loss of 0.01>"
    assert repr(gentle.Scenario("real").check()) == "<gentle scenario real>"


def test_the_reference_is_that_of_this_version() -> None:
    assert PAGE.read_text() == reference(), "docs/reference/python.md is old; run: make docs"
