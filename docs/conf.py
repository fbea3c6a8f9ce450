"""The site: ``sphinx-build -W --keep-going -c docs . build/site`` in the root of a checkout.

The source directory is the checkout's root, so that the README, the pages in docs/ and the notebooks link to each other
by the same relative paths as on GitHub. Nothing is fetched, neither when the site is built nor when it is read.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxTranslator

import fpformats

project = "fpformats"
author = copyright = "The fpformats contributors"
version = release = fpformats.__version__

root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/**", "benchmarks/README.md", "fpformats/data/README.md", "*.md"]
exclude_patterns = ["build", ".*", "**/.*", "*venv*"]
extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx_design"]
nitpicky = True
highlight_language = "none"

# Markdown: what GitHub renders, and nothing else
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3

# notebooks run when the site is built; none is kept with its output
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_ipywidgets_js = {}  # would be loaded from elsewhere: a widget shows its HTML
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]

# docstrings: types are words, backticks become a link where they name something of ours
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", r"(?!fpformats\.).*")]

html_theme = "furo"
html_title = "fpformats"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_extra_path = [path.name for path in Path(__file__).parent.glob("*.html")]  # to the root of the site
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_additional_pages = {"index": "to-front-page.html"}
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
pygments_style, pygments_dark_style = "friendly", "monokai"


def _math(page: SphinxTranslator, node: nodes.Element) -> None:
    """LaTeX to MathML, which browsers show without a script."""
    page.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def _tidy(app: Sphinx, page: str, source: list[str]) -> None:
    """No blank line at the end of a doctest; as HTML, links to anchors in HTML and to pages that were HTML before."""
    text = source[0].replace("\n\n```\n", "\n```\n")
    for anchor in set(re.findall(r'<a id="([\w-]+)"></a>', text)):
        text = re.sub(rf"\[([^]\n]+)\]\(#{anchor}\)", rf'<a href="#{anchor}">\1</a>', text)
    for name in html_extra_path:
        link = rf'<a href="{"../" * page.count("/")}{name}">\1</a>'
        text = re.sub(rf"\[([^]]+)\]\((docs/)?{re.escape(name)}\)", link, text)
    source[0] = text


def setup(app: Sphinx) -> None:
    """What no option says."""
    app.connect("source-read", _tidy)
    app.add_html_math_renderer("mathml", (_math, None), (_math, None))
