#!/usr/bin/env bash
# Compile, verify, simulate, load and host replay of the reference jobs as one table: wall clock,
# measured on this machine, with nothing else running on it. See --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
[[ -f build/release/build.ninja ]] || cmake --preset release >/dev/null
cmake --build --preset release --parallel "$(nproc)" >&2
exec python3 tools/bench.py build/release/bin "$@"
