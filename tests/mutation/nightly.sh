#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Mutations of the sources that some test must notice: MUTATE_SAMPLE of them (default 60), chosen anew each day.
set -eu
cd "$(dirname "$0")/../.."
exec .venv/bin/python tests/mutation/mutate.py --sample "${MUTATE_SAMPLE:-60}" --seed "${MUTATE_SEED:-$(date +%Y%m%d)}"
