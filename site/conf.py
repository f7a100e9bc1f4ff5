"""How Sphinx makes the site from the pages that site/build gathers."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

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
html_favicon = "../lab/public/icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False


def show_what_is_for_the_site(app: Sphinx, name: str, source: list[str]) -> None:
    """Uncover `<!-- site: … -->`, which readers of the file do not see because it links to what only the site has."""
    if str(app.env.doc2path(name)).endswith(".md"):
        source[0] = re.sub(r"<!-- site: (.*?) -->", r"\1", source[0], flags=re.DOTALL)


def link_to_folders(app: Sphinx, doctree: nodes.document) -> None:
    """Make links to folders lead to the page that introduces the folder."""
    for node in doctree.findall(pending_xref):
        if node["reftype"] != "myst" or node["refdomain"]:
            continue
        folder = posixpath.normpath(posixpath.join(posixpath.dirname(node["refdoc"]), node["reftarget"]))
        for name in (f"{folder}/README", f"{folder}/index"):
            if name in app.env.found_docs:
                node["refdomain"], node["reftarget"], node["reftargetid"] = "doc", name, None


def make_boxes_reachable(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document) -> None:
    """Let the keyboard reach what scrolls sideways in its own box."""
    if "body" in context:
        context["body"] = context["body"].replace("<pre>", '<pre tabindex="0">')
        context["body"] = context["body"].replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.connect("source-read", show_what_is_for_the_site)
    app.connect("doctree-read", link_to_folders)
    app.connect("html-page-context", make_boxes_reachable)
