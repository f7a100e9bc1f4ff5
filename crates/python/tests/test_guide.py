"""The examples of the guide run."""

from __future__ import annotations

import re

import gentle
import pytest
from conftest import ROOT

PAGES = ["README.md", "docs/guides/python.md", "docs/guides/write-a-scheme.md", "crates/python/README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, capture, tmp_path, monkeypatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    compare = gentle.compare

    def quick(*args, **options):
        return compare(*args, **{**options, "duration": "10s", "seeds": 1})

    monkeypatch.setattr(gentle, "compare", quick)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.pcap").symlink_to(capture)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
