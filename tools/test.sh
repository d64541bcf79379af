#!/usr/bin/env bash
# The whole check: release build with all tests, then those that read untrusted bytes or run threads
# again under sanitizers. The last line counts: "N passed, M failed". Exit status 0 only when nothing
# failed. A second run rebuilds only what changed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Readers of untrusted bytes and everything that moves bytes; replays, and the compiler, which verifies
# and predicts at the same time, are what has threads.
address_targets=(foundation_test topology_test importers_test job_test schedules_test kernels_test runtime_test)
thread_targets=(compile_test runtime_test)

# Objects of another checkout of the same sources are found in the compiler cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
workers=$(nproc)
passed=0
failed=0
trap 'printf "%d passed, %d failed\n" "$passed" "$failed"' EXIT

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}
trap 'fail "interrupted"; exit 130' INT TERM

# Adds the counts of one ctest report.
count() {
  local report=$1 suite tests failures skipped
  suite=$(grep -m 1 '<testsuite ' -A 8 "$report")
  number() { sed -nE "s/.*[ \t]$1=\"([0-9]+)\".*/\1/p" <<<"$suite" | head -n 1; }
  tests=$(number tests)
  failures=$(number failures)
  skipped=$(($(number skipped) + $(number disabled)))
  failed=$((failed + failures))
  passed=$((passed + tests - failures - skipped))
  echo "tests: $tests, failed: $failures, skipped: $skipped"
}

# Configures and builds preset $1 (of it only the targets that follow, or all), then runs its tests.
check() {
  local preset=$1 report
  shift
  local targets=("$@")
  report=$PWD/build/$preset/report.xml
  printf '\n== %s\n' "$preset"
  if [[ ! -f build/$preset/build.ninja ]] && ! "${wrapper[@]}" cmake --preset "$preset"; then
    fail "configuring $preset"
    return
  fi
  if ! "${wrapper[@]}" cmake --build --preset "$preset" --parallel "$workers" \
    ${targets[@]+--target "${targets[@]}"}; then
    fail "building $preset"
    return
  fi
  # What is not built is no test of this preset; transcripts and rules belong to the release build.
  local skip='^$'
  ((${#targets[@]} == 0)) || skip='_NOT_BUILT$|^transcript\.|^repository\.'
  rm -f "$report"
  "${wrapper[@]}" ctest --preset "$preset" --parallel "$workers" --exclude-regex "$skip" \
    --output-junit "$report" --no-tests=error --progress
  if [[ -f $report ]]; then
    count "$report"
  else
    fail "running the tests of $preset"
  fi
}

if ! tools/install-dependencies.sh; then
  fail "installing dependencies"
  exit 1
fi

wrapper=()
check release
# Built only where the CUDA toolkit and NCCL are.
if grep -q 'doubles_test:' build/release/build.ninja; then
  address_targets+=(doubles_test nccl_test nccl_replay_test)
  thread_targets+=(doubles_test nccl_test nccl_replay_test)
fi
export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
check asan-ubsan "${address_targets[@]}"
# g++ 12's ThreadSanitizer cannot place its shadow when addresses are randomised over more bits.
if [[ $(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0) -gt 28 ]]; then
  wrapper=(setarch --addr-no-randomize)
fi
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
check tsan "${thread_targets[@]}"

echo
((failed == 0))
