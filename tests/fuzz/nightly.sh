#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes each target for FUZZ_SECONDS (default 1800), from the shipped files as seeds. Finds stay in build/fuzz/.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset fuzz
cmake --build build/fuzz
failed=0
for program in build/fuzz/fuzz/npulab_*_fuzz; do
  name=$(basename "$program")
  case $name in *machine*) seeds=configs pattern='*.yaml' ;; *) seeds=kernels pattern='*.npu' ;; esac
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  find "$seeds" -name "$pattern" -exec cp {} "$corpus" \;
  echo "== $name: ${FUZZ_SECONDS:=1800} s"
  "$program" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="build/fuzz/$name-" \
    -print_final_stats=1 "$corpus" || failed=1
done
exit "$failed"
