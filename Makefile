# Every target sets up what it needs on first use; see README.md.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard core/*.hpp core/*.cpp)
JOBS ?= 2

.PHONY: run test bench lint sanitize clean
.DELETE_ON_ERROR:

run: $(VENV)/.installed
	$(BIN)/ramify demo --out out

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror core/*.hpp core/*.cpp

clean:
	rm -rf $(VENV) build out .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- environments -----------------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ramify needs Python 3.11 or newer; set one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "ramify needs a C++20 compiler; install g++ or clang, or set CXX." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# Python sources are used in place (editable); only a change of the native core or of the requirements installs again.
$(VENV)/.installed: $(BIN)/python pyproject.toml $(NATIVE)
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e '.[test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@
