# Every target sets up what it needs on first use; see README.md.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard core/*.hpp core/*.cpp)
JOBS ?= 2
SANITIZED := build/sanitized

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

# The native core under AddressSanitizer and UBSan, with every test that calls it, in an environment of its own.
# libstdc++ is loaded early too, or ASan misses the function that throws exceptions; leaks are Python's own at exit.
sanitize: $(SANITIZED)/.installed
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	$(SANITIZED)/bin/python -m pytest -q -n $(JOBS) --dist worksteal --timeout 1200 -p no:cacheprovider \
	  -m "not slow" --ignore tests/io --ignore tests/cli --ignore tests/benchmarks --ignore src tests

clean:
	rm -rf $(VENV) build out .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- environments -----------------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "ramify needs Python 3.11 or newer; set one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "ramify needs a C++20 compiler; install g++ or clang, or set CXX." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# Python sources are used in place (editable); only a change of the native core or of the requirements installs again.
# Each environment holds the smaller ones, so one build serves them all.
$(VENV)/.installed: $(BIN)/python pyproject.toml $(NATIVE)
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml $(NATIVE)
	$(BIN)/python -m pip install --quiet -e '.[test]'
	@touch $(VENV)/.installed $@

$(VENV)/.dev: $(BIN)/python pyproject.toml $(NATIVE)
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $(VENV)/.installed $(VENV)/.test $@

$(SANITIZED)/.installed: $(BIN)/python pyproject.toml $(NATIVE)
	$(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip install --quiet -C build-dir=build/sanitize \
	  -C cmake.define.RAMIFY_SANITIZE=ON -e '.[test]'
	@touch $@
