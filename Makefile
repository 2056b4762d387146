# Each target sets up its own environment first: make, python3 and a package index are all it needs.
PYTHON ?= python3
PYTHON312 ?= $(shell for python in python3.14 python3.13 python3.12 $$HOME/.pyenv/versions/3.1[2-4].*/bin/python python3.12; do \
	$$python -c '' 2> /dev/null && break; done; echo $$python)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements/lock.txt

define CHECK
import sys
now = sys.version_info[:2]
if not (3, 10) <= now <= (3, 13):
    sys.exit("TinyTorch needs Python 3.10 to 3.13, and $(PYTHON) is %d.%d; name another one: make $(MAKECMDGOALS) PYTHON=python3.12" % now)
endef
export CHECK

# With NumPy 2.2, the last one for Python 3.10, an array's type asks for arguments; ours have none.
TYPES := import sys; print("--allow-any-generics" * (sys.version_info < (3, 11)))

# What the instructor's tests run for real beside Python, on Debian; MADE=200 sends all made submissions through.
SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)
MADE ?= 20
PACKAGES := bubblewrap chromium chromium-driver postgresql
DEBIAN = { $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $(PACKAGES); }

.PHONY: demo test guard oracle teach-test site site-test serve test-all bench bench-growing lock clean

demo: .venv/student
	$(BIN)/tito dev demo build/demo

test: .venv/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check tito tests milestones site
	$(BIN)/tito dev export
	$(BIN)/mypy $$($(BIN)/python -c '$(TYPES)') tito build/reference/tinytorch site/*.py site/pages
	$(BIN)/pytest -n 2

guard: .venv/developer
	$(BIN)/tito dev export
	$(BIN)/python benchmarks/guard.py

oracle: .venv/oracle
	$(BIN)/tito dev export
	$(BIN)/pytest tests/oracle

teach-test: .venv/instructor
	mkdir -p build
	for program in bwrap chromium chromedriver /usr/lib/postgresql/*/bin/initdb; do \
		command -v $$program > build/debian.log || { $(DEBIAN) > build/debian.log || exit 1; break; }; done
	TITO_MADE=$(MADE) $(BIN)/pytest -n 2 --dist loadfile tests/teach tests/attacks

# The site, and with CLASS=1 the edition without solutions; what took long is kept in build/site-cache.
site: PACKAGES := nodejs npm
site: .venv/site
	mkdir -p build
	for program in node npm; do command -v $$program > build/debian.log || { $(DEBIAN) > build/debian.log || exit 1; break; }; done
	$(BIN)/python site/build.py $(if $(CLASS),--class)

serve: site
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site$(if $(CLASS),-class) 8000

# The built site in Chromium, the class edition searched, every lesson under Pyodide in Node. What measures runs alone.
site-test: PACKAGES := chromium default-jre-headless nodejs npm
site-test: site .venv/site-dev
	for program in chromium java node npm; do \
		command -v $$program > build/debian.log || { $(DEBIAN) > build/debian.log || exit 1; break; }; done
	test tests/site/node_modules/.package-lock.json -nt tests/site/package-lock.json || npm ci --silent --prefix tests/site
	$(BIN)/python site/build.py --class
	$(BIN)/pytest -n 2 tests/site/test_drive.py tests/site/test_class_edition.py tests/site/test_node.py \
		$(filter-out %_times.py,$(sort $(wildcard tests/site/test_pages_*.py)))
	$(BIN)/pytest tests/site/test_pages_times.py

test-all: .venv/developer
	TITO_LONG=1 TITO_KILL_POINTS=200 TITO_DRAWS=1000 $(BIN)/pytest -n 2 tests
	$(BIN)/pytest -vv tests/long

bench: .venv/bench
	$(BIN)/tito dev export
	$(BIN)/python benchmarks/run.py --out benchmarks/results.json

# An environment apart, for TorchSONN wants a Python from 3.12 on: make bench-growing PYTHON312=python3.13
bench-growing: .venv/student
	@$(PYTHON312) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || \
		{ echo "TorchSONN needs Python 3.12 or newer; name one: make bench-growing PYTHON312=python3.13"; exit 1; }
	test -x build/torchsonn/bin/pip || $(PYTHON312) -m venv build/torchsonn
	build/torchsonn/bin/pip install --quiet --requirement requirements/torchsonn.txt
	$(BIN)/tito dev export
	$(BIN)/python benchmarks/growing.py build/torchsonn/bin/python

# One environment, which grows by what a target needs: student, then developer, then oracle; bench beside them.
.venv/student: pyproject.toml requirements/lock.txt
	@$(PYTHON) -c "$$CHECK"
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

.venv/developer: .venv/student
	$(PIP) --editable '.[dev,instructor,jupyter]'
	touch $@

.venv/instructor: .venv/developer
	$(PIP) --editable '.[teach-dev]'
	touch $@

.venv/site: .venv/student
	$(PIP) --editable '.[site]'
	touch $@

.venv/site-dev: .venv/instructor
	$(PIP) --editable '.[site-dev]'
	touch .venv/site $@

.venv/oracle: .venv/developer
	$(PIP) --editable '.[oracle]'
	touch $@

.venv/bench: .venv/student
	$(PIP) --editable '.[bench]'
	touch $@

lock:
	$(PYTHON) -m venv build/lock && build/lock/bin/pip install --quiet uv
	build/lock/bin/uv pip compile --quiet --universal --upgrade --python-version 3.10 --no-header --no-annotate \
		--extra site-dev pyproject.toml --output-file build/lock.txt
	{ echo '# Pinned versions for every supported Python, by marker. Made by: make lock'; cat build/lock.txt; } > requirements/lock.txt

clean:
	rm -rf build .venv
