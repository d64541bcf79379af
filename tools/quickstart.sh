#!/usr/bin/env bash
# From a fresh machine to a verified, simulated and drawn plan of a real refit, and to a small one
# replayed with real bytes. A second run skips what is done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=schedules/reference
programs=build/release/bin
results=build/quickstart
main_job=deepseek-v3-gb200-256
small_job=tiny-moe

# Objects of another checkout of the same sources are found in the compiler cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

step() { printf '\n== %s\n' "$*"; }

# True when $1 exists and nothing among the others is newer.
is_current() {
  local target=$1 source
  shift
  [[ -s $target ]] || return 1
  for source in "$@"; do
    [[ ! $source -nt $target ]] || return 1
  done
}

# Compiles job $1 to its plan unless that is current; shows the summary either way. The summary is
# written under another name first, so that a failed compile is not taken for a done one.
compile() {
  local job=$1 plan=$results/$1.reshard summary=$results/$1.summary.txt
  if is_current "$plan" "$programs/reshard-compile" "$jobs"/*.json && [[ -s $summary ]]; then
    echo "$plan is current"
    cat "$summary"
    return
  fi
  rm -f "$summary"
  "$programs/reshard-compile" "$jobs/$job.job.json" -o "$plan" | tee "$summary.unfinished"
  mv "$summary.unfinished" "$summary"
}

step "dependencies"
tools/install-dependencies.sh

step "release build in build/release"
[[ -f build/release/build.ninja ]] || cmake --preset release
cmake --build --preset release --target tools/all

mkdir -p "$results"
step "compile $main_job: DeepSeek-V3 671B, 128 training to 128 inference GPUs"
compile "$main_job"
step "verify"
"$programs/reshard-verify" "$results/$main_job.reshard"
step "simulate"
"$programs/reshard-simulate" "$results/$main_job.reshard"
step "draw"
"$programs/reshard-draw" "$results/$main_job.reshard" -o "$results/$main_job.svg"

step "compile $small_job"
compile "$small_job"
step "replay $small_job on host threads: three refits, every destination byte checked"
"$programs/reshard-replay" "$results/$small_job.reshard" --backend host --refits 3 --check

step "done; the files are"
printf '  %s\n' "$PWD/$results/$main_job.reshard" "$PWD/$results/$main_job.summary.txt" \
  "$PWD/$results/$main_job.svg" "$PWD/$results/$small_job.reshard"
