"""Settings of Sphinx for the course as a website. `make site` runs build.py, which writes pages and calls Sphinx."""

project = "contrast_kit"
author = copyright = "The contrast_kit maintainers"
extensions = ["myst_nb", "sphinx.ext.mathjax"]
exclude_patterns = []

# Only what is stored is shown: nothing runs while the site is built.
nb_execution_mode = "off"
nb_merge_streams = True
nb_render_markdown_format = "myst"
nb_ipywidgets_js = {}  # would come from another host
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header"]  # a notebook may go from its title to a third level

mathjax_path = "tex-svg-full.js"
mathjax3_config = {"svg": {"fontCache": "local"}, "options": {"enableMenu": False}}

html_theme = "sphinx_book_theme"
html_title = "contrast_kit"
html_static_path = ["mathjax", "static"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_show_sphinx = False
toc_object_entries_show_parents = "hide"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "use_download_button": True,
    "use_fullscreen_button": False,
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "show_navbar_depth": 1,
    "navbar_persistent": [],  # the search is in the side bar
}


def setup(app):
    app.connect("doctree-read", with_alternatives)
    app.connect("doctree-read", with_tags)
    app.connect("build-finished", with_thumbnails)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def with_alternatives(app, doctree):
    """Give each stored figure its words; build.py has written them down by the hash of the picture."""
    import json
    from pathlib import Path

    from docutils import nodes

    words = json.loads((Path(app.srcdir) / "alternatives.json").read_text("utf-8"))
    for image in doctree.findall(nodes.image):
        if not image.get("alt"):
            image["alt"] = words.get(Path(image["uri"]).stem, "")


def with_tags(app, doctree):
    """Leave formulas of several lines as they are: Sphinx would put them into `split`, where no tag may stand."""
    from docutils import nodes

    for formula in doctree.findall(nodes.math_block):
        text = formula.astext().strip()
        if r"\\" in text and not formula.get("no-wrap") and not text.startswith(r"\begin{align"):
            formula["no-wrap"] = formula["nowrap"] = True
            whole = r"\begin{equation*}" + text + r"\end{equation*}"
            formula.rawsource = whole
            formula.children = [nodes.Text(whole)]


def with_thumbnails(app, error):
    """The front's cards are HTML, so Sphinx does not see their pictures."""
    import shutil
    from pathlib import Path

    if not error:
        shutil.copytree(Path(app.srcdir) / "thumbnails", Path(app.outdir) / "thumbnails", dirs_exist_ok=True)
