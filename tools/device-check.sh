#!/usr/bin/env bash
# Checks and measures the device part on one GPU, in under 4 minutes and without a network:
#
#   tools/device-check.sh --build    # where CUDA toolkit and NCCL are, with or without a GPU
#   tools/device-check.sh            # where the GPU is; takes nothing along but this checkout's
#                                    # tools/device-check.sh and build/device/
#
# Kernels against their host twins, a naive kernel and a device-to-device copy; a job captured into a
# CUDA graph and replayed, by hand and by the runtime's engine; several ranks on the GPU with NCCL 2.30
# or newer; compute-sanitizer over a small run. NCCL and compute-sanitizer are used if they are there,
# else their rows say so. Prints one table. Exit status 0 when nothing was wrong, 4 when something was,
# 1 when it cannot run.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=build/device/reshard-device-check
replay=build/device/reshard-device-replay # of the runtime; needs NCCL to start

if [[ ${1:-} == --build ]]; then
  set -e
  cmake --preset release >/dev/null
  cmake --build --preset release --target reshard-device-check reshard-device-replay
  mkdir -p build/device
  cp build/release/device/reshard-device-{check,replay} build/device
  echo "device-check: build/device, $(du --summarize --block-size=1K build/device | cut -f 1) KiB"
  exit 0
fi
if (($# > 0)); then
  echo "usage: tools/device-check.sh [--build]" >&2
  exit 2
fi
if [[ ! -x $program ]]; then
  echo "device-check: $program is missing; run tools/device-check.sh --build where the CUDA toolkit and NCCL are" >&2
  exit 1
fi

row() { printf '%-34s  %-8s  %s\n' "$1" "$2" "$3"; }

row check verdict figures
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader --id=0 2>/dev/null | head -n 1)
row date - "$(date --utc +%F), driver ${driver:-unknown}"
status=0
# 4 minutes for everything: what is stuck must not use them all.
timeout --kill-after=5 90 "$program" || status=$?
((status != 1)) || exit 1 # no GPU here, as it said
((status == 0 || status == 4)) || row "$program" WRONG "exit status $status"
if ldd "$replay" | grep --quiet 'libnccl.*not found'; then
  row "engine" skipped "no NCCL on this machine"
else
  engine=0
  timeout --kill-after=5 60 "$replay" || engine=$?
  ((engine == 0 || engine == 4)) || row "$replay" WRONG "exit status $engine"
  ((engine == 0)) || status=4
fi

sanitizer=$(command -v compute-sanitizer || true)
[[ -n $sanitizer || ! -x /usr/local/cuda/bin/compute-sanitizer ]] || sanitizer=/usr/local/cuda/bin/compute-sanitizer
if [[ -z $sanitizer ]]; then
  row compute-sanitizer skipped "not on this machine"
else
  log=$(mktemp)
  if timeout --kill-after=5 60 "$sanitizer" --error-exitcode 9 "$program" --small >"$log" 2>&1; then
    row compute-sanitizer right "small run, $(grep -m 1 'ERROR SUMMARY' "$log" | sed 's/^=* *//')"
  else
    row compute-sanitizer WRONG "small run, exit status $?:"
    tail -n 20 "$log"
    status=4
  fi
  rm -f "$log"
fi
((status == 0)) || exit 4
