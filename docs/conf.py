"""Sphinx configuration: `make docs` builds into docs/_build/html, without the network."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes  # type: ignore[import-untyped]  # it has no types of its own

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE.parent),
    str(HERE),
]  # for autodoc, and for the modules here

import docstrings  # noqa: E402
import generated  # noqa: E402

_project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project, author = "Gauntlet", "The Gauntlet authors"
copyright = author
release = version = _project["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]
suppress_warnings = ["misc.highlighting_failure"]  # a log line with "..." in it is not JSON

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

highlight_language = "none"  # blocks without a language are terminal input and output

default_role = "code"  # docstrings are Markdown: single backticks are code
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
add_module_names = False
nitpicky = True
# References to other libraries would need their inventories from the network.
nitpick_ignore_regex = [("py:.*", ".*")]

html_theme = "furo"
html_title = "Gauntlet"
html_static_path = ["_static"]
html_css_files = ["gauntlet.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}

# Only links between the documents are checked, without the network.
linkcheck_ignore = [r"https?://.*"]

copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True


def setup(app: Any) -> None:
    """Write the pages generated from code and configs before Sphinx reads the sources."""
    generated.write(HERE / "reference")
    generated.copy_papers(HERE / "papers")
    app.connect("source-read", _to_copies)
    app.connect("autodoc-process-docstring", docstrings.as_lists)
    app.connect("doctree-read", _dark_pictures, priority=100)  # before pictures are collected


def _to_copies(app: Any, docname: str, source: list[str]) -> None:
    """Links to the page of a paper, and from it, fit the copy that the site has of it."""
    source[0] = source[0].replace("../gauntlet/papers/", "papers/").replace("../docs/", "")


def _dark_pictures(app: Any, doctree: nodes.document) -> None:
    """Beside each picture with a dark version, NAME_dark.png, that one for dark pages."""
    folder = Path(app.env.doc2path(app.env.docname)).parent
    for light in [*doctree.findall(nodes.image)]:
        file = Path(light["uri"])
        dark = file.with_name(f"{file.stem}_dark{file.suffix}")
        if (folder / dark).is_file():
            other = light.deepcopy()
            other["uri"], other["classes"] = str(dark), ["only-dark"]
            light["classes"] = [*light["classes"], "only-light"]
            light.parent.insert(light.parent.index(light) + 1, other)
