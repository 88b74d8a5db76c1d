"""Settings of Sphinx for the course as a website. `make site` runs build.py, which writes pages and calls Sphinx."""

project = "contrast_kit"
author = copyright = "The contrast_kit maintainers"
extensions = ["myst_nb"]
exclude_patterns = []

# Only what is stored is shown: nothing runs while the site is built.
nb_execution_mode = "off"
nb_merge_streams = True
nb_render_markdown_format = "myst"
nb_ipywidgets_js = {}  # would come from another host
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header"]  # a notebook may go from its title to a third level

myst_update_mathjax = False
html_math_renderer = "mathml"

html_theme = "sphinx_book_theme"
html_title = "contrast_kit"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
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
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
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


def inline_formula(writer, node):
    """A formula in a line, as MathML."""
    import lean
    from docutils import nodes

    writer.body.append(lean.formula(node.astext()))
    raise nodes.SkipNode


def displayed_formula(writer, node):
    """A formula on lines of its own, as MathML."""
    import lean
    from docutils import nodes

    writer.body.append(lean.numbered(node.astext()))
    raise nodes.SkipNode


def with_thumbnails(app, error):
    """The front's cards are HTML, so Sphinx does not see their pictures."""
    import shutil
    from pathlib import Path

    if not error:
        shutil.copytree(Path(app.srcdir) / "thumbnails", Path(app.outdir) / "thumbnails", dirs_exist_ok=True)
