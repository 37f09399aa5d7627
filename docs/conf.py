"""How the site is built: `make docs`."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import rankfair

project = "rankfair"
author = "rankfair contributors"
copyright = "rankfair contributors"
release = version = rankfair.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_typehints = "none"  # a docstring says what it takes
toc_object_entries_show_parents = "hide"
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
# Links of pages that are shown on GitHub too: to files beside the site.
suppress_warnings = ["config.cache"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "remove_config_comments": True,
    "show_memory": False,
    "capture_repr": ("_repr_html_",),  # no "[Text(0.5, 18.5, …)]" below a picture
    "write_computation_times": False,  # its page loads scripts from elsewhere
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = f"rankfair {release}"
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {name: [] for name in ("index", "start", "changelog")}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
