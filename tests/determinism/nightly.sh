#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reports and tensors of every kernel from g++ and clang++, each -O3 and -O0, on both SIMD paths: NPULAB_RUNS runs (default 20).
set -eu
cd "$(dirname "$0")/../.."
programs=
for preset in release debug clang-release clang-debug; do
  cmake --preset "$preset" >/dev/null
  cmake --build "build/$preset" --target npulab
  programs=$programs:$PWD/build/$preset/npulab
done
export NPULAB_PROGRAMS="${programs#:}" NPULAB_RUNS="${NPULAB_RUNS:-20}"
exec .venv/bin/python -m pytest -q tests/determinism
