#!/usr/bin/env bash
# Formatting, then clang-tidy, over our own C++. Arguments are files to look at instead of all;
# --format-only leaves clang-tidy out. clang 16: 14 cannot parse libstdc++ 12's views.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

format_only=false
if [[ ${1:-} == --format-only ]]; then
  format_only=true
  shift
fi
if (($# > 0)); then
  files=("$@")
else
  mapfile -t files < <(find foundation topology schedules compiler simulator kernels runtime tools tests \
    -type f \( -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort)
fi

clang-format-16 --dry-run --Werror "${files[@]}"
echo "format: ${#files[@]} files as .clang-format wants them"
if $format_only; then exit 0; fi

[[ -f build/release/compile_commands.json ]] || cmake --preset release
# Headers that the build makes must be there before a file that includes them is parsed.
cmake --build --preset release --target schedules/all
# Only what this configuration compiles: the GPU parts are absent without a CUDA toolkit.
sources=()
for file in "${files[@]}"; do
  if [[ $file == *.cc ]] && grep -q "\"file\": \"$PWD/$file\"" build/release/compile_commands.json; then
    sources+=("$file")
  fi
done
printf '%s\0' "${sources[@]}" |
  xargs -0 --max-args=4 --max-procs="$(nproc)" clang-tidy-16 -p build/release --quiet
echo "clang-tidy: ${#sources[@]} files clean"
