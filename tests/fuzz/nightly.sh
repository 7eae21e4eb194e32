#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes each entry for FUZZ_SECONDS (default 1800) from its seeds, FUZZ_ENTRIES alone if given, then runs NPULAB_SEEDS (default
# 1..20000) random programs. Prints for each entry: executions, corpus, finds. Finds stay in build/fuzz/finds/.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset fuzz
cmake --build build/fuzz --target npulab_fuzz
program=$PWD/build/fuzz/npulab_fuzz
work=$PWD/build/fuzz
mkdir -p "$work/finds"
failed=0
summary=
for entry in ${FUZZ_ENTRIES:-$("$program" --list)}; do
  export NPULAB_FUZZ_ENTRY="$entry"
  corpus=$work/corpus/$entry log=$work/$entry.log
  "$program" --seeds "$corpus"
  "$program" --dictionary "$work/$entry.dict"
  if [ -d "tests/fuzz/corpus/$entry" ]; then cp "tests/fuzz/corpus/$entry"/* "$corpus"; fi
  echo "== $entry: ${FUZZ_SECONDS:=1800} s"
  ASAN_OPTIONS=detect_leaks=1 "$program" -max_total_time="$FUZZ_SECONDS" -timeout=20 -rss_limit_mb=2048 -max_len=16384 \
    -dict="$work/$entry.dict" -artifact_prefix="$work/finds/$entry-" -print_final_stats=1 "$corpus" >"$log" 2>&1 ||
    { failed=1; tail -n 40 "$log"; }
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  finds=$(find "$work/finds" -name "$entry-*" | wc -l)
  summary="$summary$entry: ${executions:-?} executions, $(find "$corpus" -type f | wc -l) inputs, $finds finds
"
done
printf '%s' "$summary"
seeds=${NPULAB_SEEDS:-1..20000}
echo "== random programs: $seeds"
if [ -x build/dev/tests/fuzz/npulab_test_fuzz ]; then
  NPULAB_SEEDS=$seeds build/dev/tests/fuzz/npulab_test_fuzz --gtest_filter='Random*' || failed=1
else
  echo "build/dev has no npulab_test_fuzz: ./dev build dev makes it"
fi
exit "$failed"
