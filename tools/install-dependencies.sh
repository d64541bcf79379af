#!/usr/bin/env bash
# Installs what the build and the tests need, from the distribution's packages (Debian 12).
# Needs root or sudo only when something is missing.
set -euo pipefail

packages=(
  cmake ninja-build g++ ccache pkg-config python3
  libprotobuf-dev protobuf-compiler          # the plan file
  libcli11-dev libexpected-dev libfmt-dev nlohmann-json3-dev libxxhash-dev
  libpugixml-dev libyaml-cpp-dev             # topology files of other tools
  libboost-dev                               # 1.74: libsimgrid-dev and libboost1.81-dev exclude each other
  coinor-libclp-dev                          # the small linear programs of the planner
  libopenmpi-dev openmpi-bin                 # replay between processes
  libgraphviz-dev graphviz                   # drawings
  libgtest-dev libgmock-dev libbenchmark-dev # tests
  python3-jsonschema                         # the test of traces against their schema
  python3-numpy                              # tests that rebuild a checkpoint
  libsimgrid-dev                             # a test oracle
  clang-format-16 clang-tidy-16              # tools/lint.sh
)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install-dependencies: this is no Debian system; install the equivalents of:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "dependencies: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install-dependencies: run as root, or install sudo; missing: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "dependencies: installing ${missing[*]}"
"${as_root[@]}" apt-get update --quiet
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install --yes --quiet --no-install-recommends "${missing[@]}"
