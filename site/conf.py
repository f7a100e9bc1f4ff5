"""How Sphinx makes the site from the pages that site/build gathers."""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.addnodes import pending_xref

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

project = "gentle"
extensions = ["myst_nb"]
# The anchors of headings are those of the files' readers elsewhere.
myst_heading_anchors = 6
# site/notebooks has run them.
nb_execution_mode = "off"
# A page loads nothing from another host, and widgets would.
nb_ipywidgets_js = {}
# A few blocks have "..." for what was left out; they are shown without colours.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "gentle"
html_static_path = ["static"]
html_css_files = ["site.css"]
# Guides come first in the results of a search.
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_favicon = "../lab/public/icon.svg"
html_copy_source = False
html_use_index = False
html_show_copyright = False


def show_what_is_for_the_site(app: Sphinx, name: str, source: list[str]) -> None:
    """Uncover `<!-- site: … -->`, which readers of the file do not see because it links to what only the site has."""
    if str(app.env.doc2path(name)).endswith(".md"):
        source[0] = re.sub(r"<!-- site: (.*?) -->", r"\1", source[0], flags=re.DOTALL)


CONTENTS = "docs/index"
"""The page whose lists of links are the contents of the site as well."""


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Give the first page the contents of the manual: a tree for each heading, with the pages that are linked below it."""
    if name != "index":
        return
    folder = posixpath.dirname(CONTENTS)
    text = Path(str(app.env.doc2path(CONTENTS))).read_text(encoding="utf-8")
    trees = [("Start", ["README", CONTENTS])]
    for section in text.split("\n## ")[1:]:
        caption, body = section.split("\n", 1)
        trees.append((caption, [found for link in re.findall(r"\]\(([^)#]+)\)", body) if (found := page(app, folder, link))]))
    for caption, pages in trees:
        source[0] += "\n".join(["", "```{toctree}", f":caption: {caption}", ":hidden:", "", *pages, "```", ""])


def page(app: Sphinx, folder: str, link: str) -> str | None:
    """Return the page that a link from a folder leads to; ``None`` if it is not a page of the site."""
    path = posixpath.normpath(posixpath.join(folder, link)).removesuffix(".md")
    return next((name for name in (path, f"{path}/index", f"{path}/README") if name in app.env.found_docs), None)


def link_to_folders(app: Sphinx, doctree: nodes.document) -> None:
    """Make links to folders lead to the page that introduces the folder."""
    for node in doctree.findall(pending_xref):
        if node["reftype"] != "myst" or node["refdomain"]:
            continue
        folder = posixpath.normpath(posixpath.join(posixpath.dirname(node["refdoc"]), node["reftarget"]))
        for name in (f"{folder}/README", f"{folder}/index"):
            if name in app.env.found_docs:
                node["refdomain"], node["reftarget"], node["reftargetid"] = "doc", name, None


FOR_ALL_READERS = {
    # What scrolls sideways in its own box is within reach of the keyboard.
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<div class="output text_html">': '<div tabindex="0" class="output text_html">',
    # A cell without a word is no heading.
    '<th class="head"><p></p></th>': "<td></td>",
    # What Furo leaves out: levels of headings, names of landmarks, a heading for the search.
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<div id="search-results">': '<h1>Search</h1>\n<div id="search-results">',
}
"""What is replaced in each page, so that screen readers and keyboards get along with it."""


def make_accessible(app: Sphinx, exception: Exception | None) -> None:
    """Replace `FOR_ALL_READERS` in the finished pages, which the templates of the theme have a part in."""
    if exception:
        return
    for path in app.outdir.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for found, instead in FOR_ALL_READERS.items():
            text = text.replace(found, instead)
        path.write_text(text, encoding="utf-8")


MOVED = {
    "analyze": "reference/analysis",
    "analyze-json": "reference/json/analyze",
    "applications": "concepts/users",
    "claims/gsp-2015": "research/claims/gsp-2015",
    "claims/handshake-2009": "research/claims/handshake-2009",
    "claims/redfavor-2012": "research/claims/redfavor-2012",
    "claims/spa-2018": "research/claims/spa-2018",
    "columns": "reference/columns",
    "gentle": "concepts/gentle",
    "gentle-evaluation": "research/gentle-evaluation",
    "json": "reference/json",
    "kernel-proof": "research/kernel-proof",
    "lab": "guides/lab",
    "model": "concepts/model",
    "papers/gsp-2015": "research/papers/gsp-2015",
    "papers/handshake-2009": "research/papers/handshake-2009",
    "papers/open": "research/papers/open",
    "papers/redfavor-2012": "research/papers/redfavor-2012",
    "papers/spa-2018": "research/papers/spa-2018",
    "python": "guides/python",
    "python-api": "reference/python",
    "qdisc": "guides/router",
    "reproduce": "guides/papers",
    "rexmit": "guides/rexmit",
    "rexmit-wire": "reference/rexmit",
    "scenarios": "reference/scenarios",
    "schemes": "reference/schemes",
    "sweep": "guides/sweeps",
    "tcp-profiles": "reference/tcp-profiles",
    "testbed": "concepts/testbed",
    "testbed-scenarios": "guides/verify-on-linux",
}
"""Earlier addresses of pages, below docs/."""


def redirect(app: Sphinx, exception: Exception | None) -> None:
    """Write a page at each earlier address that leads to the present one, with its anchor."""
    if exception:
        return
    for old, new in MOVED.items():
        path = app.outdir / f"docs/{old}.html"
        target = escape(posixpath.relpath(f"docs/{new}.html", posixpath.dirname(f"docs/{old}")))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f'''<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Moved</title>
<link rel="canonical" href="{target}">
<meta http-equiv="refresh" content="0; url={target}">
<script>location.replace("{target}" + location.hash);</script>
</head>
<body><main><h1>Moved</h1><p>This page is now <a href="{target}">here</a>.</p></main></body>
</html>
''',
            encoding="utf-8",
        )


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.connect("source-read", add_contents)
    app.connect("source-read", show_what_is_for_the_site)
    app.connect("doctree-read", link_to_folders)
    app.connect("build-finished", make_accessible)
    app.connect("build-finished", redirect)
