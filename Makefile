# Two commands: `make lab` opens the course, `make test` checks everything. Both work from nothing but make and
# Python >= 3.11, may be repeated, and install only when pyproject.toml or constraints.txt has changed.

VENV    := .venv
PY      := $(VENV)/bin/python
ADD     = $(PY) -m $$($(PY) -m uv --version >/dev/null 2>&1 && echo "uv pip install --python $(PY)" || echo "pip install")
STAMP   := $(VENV)/installed-in
COURSE  := $(wildcard notebooks/*.ipynb)
# Six short notebooks; `make test-full` runs the others.
LIVE    := $(addprefix notebooks/, 01_masking.ipynb 02_losses.ipynb 02b_losses_in_practice.ipynb 07_scl.ipynb \
             09b_on_real_english.ipynb 10b_thirty_draws.ipynb)
TORCH   := 2.13.0

# uv reads its own variable, not pip's, for folders of wheels.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
# Each import compiles what it needs, once. All files at once would take two minutes before anything can be seen.
unexport PYTHONDONTWRITEBYTECODE
# Where two processes use torch, threads that wait must not spin: two spinning pairs on two cores are many times
# slower than two that sleep.
export OMP_WAIT_POLICY ?= passive
# Two test files, or two notebooks, at a time with one thread each: faster than one after the other with two.
PYTEST := OMP_NUM_THREADS=1 MPLBACKEND=Agg $(PY) -m pytest --numprocesses=2 --dist=loadfile
# `make test` compares the outputs of cells tagged nbval-check-output, `make test-full` those of all but
# nbval-ignore-output: the digits of a trained model are one machine's.
COMPARE := --nbval-lax
test-full: COMPARE := --nbval
NBVAL  = CONTRAST_KIT_PROGRESS= TQDM_DISABLE=1 $(PYTEST) -p no:cacheprovider $(COMPARE) --nbval-current-env \
            --nbval-cell-timeout 300 --nbval-sanitize-with tests/nbval_sanitize.cfg

.PHONY: help lab test test-full lint format notebooks pictures wheel site site-check check install lock clean distclean
.DEFAULT_GOAL := help

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# A copy in course/, so that what a reader does changes no file of the project (LAB_FLAGS=--folder=notebooks: no copy).
lab: $(STAMP)  ## Install what is missing and open the course in JupyterLab (LAB_FLAGS=--no-browser on a server)
	$(PY) -m contrast_kit lab $(LAB_FLAGS)

test: $(STAMP)  ## Install what is missing, then lint, tests, docstring examples and six notebooks
	$(MAKE) --no-print-directory lint
	$(PYTEST) --no-loadscope-reorder -m 'not full'
	$(NBVAL) $(LIVE)

test-full: test  ## The same, then the long tests (processes, browser, real data) and all other notebooks
	$(PYTEST) --no-loadscope-reorder -m full
	$(NBVAL) $(filter-out $(LIVE),$(COURSE))

lint: $(STAMP)  ## Style and likely bugs
	$(PY) -m ruff check .
	$(PY) -m ruff format --check contrast_kit tests

format: $(STAMP)  ## Put the code into the house's form
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format contrast_kit tests

# Timings and widget states are left out, panels are stored as figures: what is stored changes only when an output does.
notebooks: $(STAMP)  ## Run the notebooks and store their outputs (COURSE=notebooks/05_cmlm.ipynb for one)
	OMP_NUM_THREADS=1 CONTRAST_KIT_PANELS=static CONTRAST_KIT_PROGRESS= TQDM_DISABLE=1 $(PY) -m jupyter nbconvert --to notebook --inplace --execute --ExecutePreprocessor.timeout=300 \
	    --ExecutePreprocessor.record_timing=False --ExecutePreprocessor.store_widget_state=False \
	    --ClearMetadataPreprocessor.enabled=True \
	    $(addprefix --ClearMetadataPreprocessor.preserve_nb_metadata_mask=,kernelspec language_info) \
	    $(addprefix --ClearMetadataPreprocessor.preserve_cell_metadata_mask=,tags jupyter collapsed alt) $(COURSE)

# From stored outputs and docstrings: it runs no notebook and needs no network once its packages are here.
site: $(STAMP)  ## Build the course as a website, build/site/html/index.html
	@$(PY) -c 'import sphinx_book_theme, myst_nb, latex2mathml' 2>/dev/null || $(ADD) --constraint constraints.txt --editable '.[site]'
	$(PY) docs/build.py

site-check: site  ## Look at every page of it in a browser: links, formulas, figures, panels, width, no request elsewhere
	$(PY) docs/check.py

pictures: $(STAMP)  ## Draw the README's animation and the website's thumbnails
	$(PY) pictures/draw.py

wheel: $(STAMP)  ## Build the package into dist/, with all that the course reads
	rm -rf build/lib build/bdist.*
	$(PY) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

check: $(STAMP)  ## Print what a bug report needs
	$(PY) -m contrast_kit check

install: $(STAMP)  ## Only install

# The stamp holds this folder's path: an environment that came here with its folder, moved or copied, is made anew.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

# The first Python that is new enough, has wheels for the pinned versions, and can make an environment.
FIND_PYTHON = for p in $(PYTHON) python3 python3.11 python3.12 python3.13 python3.14 python; do \
    "$$p" -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null \
      && { echo "$$p"; break; }; done

$(STAMP): pyproject.toml constraints.txt
	@rm -f $(STAMP)
	@python=$$($(FIND_PYTHON)); \
	test -n "$$python" || { echo "contrast_kit needs Python 3.11 to 3.14 with venv (on Debian and Ubuntu:" \
	    "apt install python3-venv); name one with: make PYTHON=/path/to/python ..." >&2; exit 1; }; \
	grep -sqF "$$(pwd -P)/$(VENV)" $(VENV)/pyvenv.cfg && $(PY) -m pip --version >/dev/null 2>&1 \
	    || "$$python" -m venv --clear $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check uv || echo "uv is not to be had; pip will do, more slowly."
	@if $(PY) -m uv --version >/dev/null 2>&1; \
	then $(PY) -m uv pip install --python $(PY) --constraint constraints.txt --editable '.[test]'; \
	else $(PY) -m pip install --no-compile --constraint constraints.txt --editable '.[test]'; fi
	@printf '%s' "$$(pwd -P)" > $(STAMP)

# Made from the public index alone (no local folders), for every platform. torch is held at a version for which
# CPU and CUDA builds exist everywhere; raise it here.
lock: $(STAMP)  ## Renew constraints.txt from pyproject.toml
	echo 'torch==$(TORCH)' | UV_FIND_LINKS= $(PY) -m uv pip compile --quiet --universal --all-extras --upgrade \
	    --python-version 3.11 --no-emit-index-url --annotation-style line --custom-compile-command 'make lock' \
	    --constraint - pyproject.toml --output-file constraints.txt

clean:  ## Remove caches, keep the environment
	rm -rf .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -path ./$(VENV) -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -exec rm -rf {} +

distclean: clean  ## Remove the environment too
	rm -rf $(VENV)
