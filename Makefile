# Every target sets up what it needs on first use; see README.md.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := $(shell find core -name "*.[ch]pp")
NATIVE := CMakeLists.txt $(SOURCES)
JOBS ?= 2
# Programs that tests start find compiled modules, whatever the caller has set.
export PYTHONDONTWRITEBYTECODE :=
# One version for all tests of the PyTorch part; users may have any that the extra allows.
TORCH := torch==2.13.0

.PHONY: run test test-all test-oldest test-newest coverage wheel test-wheel test-root bench papers docs lint sanitize \
  sanitize-address sanitize-thread clean
.DELETE_ON_ERROR:

run: $(VENV)/.installed
	$(BIN)/cladify demo --out out

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# All repetitions and many random examples: for the night.
test-all: $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "" --hypothesis-profile nightly

# The suite with the oldest versions that pyproject.toml allows, and with the newest there are. What the oldest need
# themselves is new, and tells them that their calls are deprecated.
test-oldest: build/oldest/.installed
	build/oldest/bin/python -m pytest tests -n $(JOBS) --dist worksteal -W ignore::DeprecationWarning $(ARGS)

test-newest: build/newest/.installed
	build/newest/bin/python -m pytest tests -n $(JOBS) --dist worksteal $(ARGS)

# Which lines the suite never runs; build/coverage has a page for each file.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term --cov-report=html:build/coverage

# A wheel for Linux and the source in dist/, checked as an index would; then the suite on that wheel, without a compiler.
wheel:
	PYTHON=$(PYTHON) packaging/wheel.sh

test-wheel:
	PYTHON=$(PYTHON) packaging/wheel.sh test $(ARGS)

# That wheel in a fresh Debian with Python and no compiler, as root: seconds to the first page, and every command of the
# documentation. ARGS=trixie takes a newer one.
test-root:
	packaging/root.sh $(ARGS)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(ARGS)

# The figures that the papers print, beside ours; TIER=quick takes a minute, all takes hours.
TIER ?= normal
papers: $(VENV)/.test
	$(BIN)/cladify papers $(TIER) --out out/papers

docs: $(VENV)/.docs
	$(BIN)/python docs/make_defaults.py
	$(BIN)/python docs/make_api.py
	$(BIN)/python -m mkdocs build
	@echo "open build/site/index.html"

lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(SOURCES) tests/core/*.cpp

# The native core under AddressSanitizer with UBSan, then under ThreadSanitizer: its unit tests, and every test that calls
# it, each in an environment of its own. A sanitizer that this compiler or machine lacks is named and left out. libstdc++
# is loaded early too, or ASan misses the function that throws exceptions; leaks are Python's own at exit.
sanitize:
	@mkdir -p build
	@for kind in address thread; do \
	  if printf 'int main() {}' | $(CXX) -x c++ -fsanitize=$$kind - -o build/probe-$$kind 2>/dev/null && build/probe-$$kind; \
	  then echo "$$kind sanitizer"; $(MAKE) --no-print-directory sanitize-$$kind || exit 1; \
	  else echo "$$kind sanitizer: not available with $(CXX) here, left out"; fi; done

# All tests of the core's callers but those marked slow, which run the same code on more data; left out are pages in
# Chromium and the benchmarks' runner, which start programs that are not built for a sanitizer, and the examples in
# docstrings, which repeat the tests. AddressSanitizer reserves terabytes of addresses, which the limit of memory in
# tests/io/test_fuzz.py refuses.
SANITIZED_TESTS = -m pytest -q -n $(JOBS) --dist worksteal --timeout 1200 -p no:cacheprovider -m "not slow and not nightly" tests \
	  --ignore tests/explore/test_browser.py --ignore tests/benchmarks

sanitize-address: build/sanitized-address/.installed
	build/sanitize-address/core_tests
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	build/sanitized-address/bin/python $(SANITIZED_TESTS) --ignore tests/io/test_fuzz.py

# Forked children cannot start threads under ThreadSanitizer, and polars, which brings its own allocator, crashes at
# import. Files and commands have no threads of their own, and PyTorch's are not built for it. Nor are those of BLAS
# and of scikit-learn, which are told to have one: cladify's own are not counted by these settings.
sanitize-thread: build/sanitized-thread/.installed
	build/sanitize-thread/core_tests
	LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	TSAN_OPTIONS=halt_on_error=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	build/sanitized-thread/bin/python $(SANITIZED_TESTS) --ignore tests/core/test_fork.py --ignore tests/test_points.py \
	  --ignore tests/taxonomy/test_taxonomy.py --ignore tests/io --ignore tests/cli --ignore tests/embed \
	  --ignore tests/hyperbolic/test_torch.py

clean:
	rm -rf $(VENV) build out .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- environments -----------------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "cladify needs Python 3.11 or newer; set one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "cladify needs a C++20 compiler; install g++ or clang, or set CXX." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# Python sources are used in place (editable); only a change of the native core or of the requirements installs again.
# Each environment holds the smaller ones, so one build serves them all. To run, the core has the best instruction-set
# level of this machine; for tests, all levels. Its folder stays, so that a change compiles what it touches. Bytecode is
# written at first use: most of what is installed here is never imported.
ONE_LEVEL = OFF
$(VENV)/.installed $(VENV)/.docs: ONE_LEVEL = ON
BUILT = -C build-dir=build/core$(notdir $(VENV)) -C cmake.define.CLADIFY_ONE_LEVEL=$(ONE_LEVEL)
EDITABLE = $(BIN)/python -m pip install --quiet --no-compile --no-build-isolation $(BUILT) -e

$(VENV)/.build-tools: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4"
	$(BIN)/python -c "import scikit_build_core.build as b; print(*b.get_requires_for_build_editable())" | \
	  xargs -r $(BIN)/python -m pip install --quiet
	@touch $@

$(VENV)/.installed: $(VENV)/.build-tools pyproject.toml $(NATIVE)
	$(EDITABLE) .
	@touch $@

$(VENV)/.test: $(VENV)/.build-tools pyproject.toml $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-compile $(TORCH)
	$(EDITABLE) '.[test]'
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } 2>/dev/null || \
	  echo "No Chromium here, and no way to install it: tests of the page in a browser are skipped."
	@touch $(VENV)/.installed $@

$(VENV)/.dev: $(VENV)/.build-tools pyproject.toml $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-compile $(TORCH)
	$(EDITABLE) '.[dev]'
	@touch $(VENV)/.installed $(VENV)/.test $@

$(VENV)/.docs: $(VENV)/.installed
	$(EDITABLE) '.[docs]'
	@touch $@

build/oldest/.installed build/newest/.installed: build/%/.installed: $(BIN)/python pyproject.toml $(NATIVE) packaging/oldest.py
	$(PYTHON) -m venv build/$*
	mkdir -p build/$* && { [ $* = newest ] || $(PYTHON) packaging/oldest.py; } > build/$*/constraints.txt
	build/$*/bin/python -m pip install --quiet uv
	build/$*/bin/uv pip install --quiet --python build/$*/bin/python -c build/$*/constraints.txt '.[test]' \
	  $(if $(filter oldest,$*),httpx)  # which the tests' client of the oldest Starlette asks for
	@touch $@

build/sanitized-%/.installed: $(BIN)/python pyproject.toml $(NATIVE) tests/core/core_tests.cpp
	$(PYTHON) -m venv build/sanitized-$*
	build/sanitized-$*/bin/python -m pip install --quiet $(TORCH)
	build/sanitized-$*/bin/python -m pip install --quiet -C build-dir=build/sanitize-$* \
	  -C cmake.define.CLADIFY_SANITIZE=$* -C cmake.define.CLADIFY_UNIT_TESTS=ON -e '.[test]'
	@touch $@
