#!/usr/bin/env bash
# check_spills.sh NVCC CHECKOUT PTX: compiles the kernels for every Jetson the nvcc knows, and for the first
# that every nvcc knows (75), from the PTX that ships and from the source, and fails if any kernel spills
# registers to memory. Without an nvcc it says so and is skipped.
set -euo pipefail
nvcc=$1 checkout=$2 ptx=$3
if ! [ -x "$nvcc" ]; then
  echo "skipped: nvcc was not found, spills cannot be checked"
  exit 77
fi
ptxas=$(dirname "$nvcc")/ptxas
known=$("$nvcc" --list-gpu-code 2>/dev/null || echo "sm_53 sm_62 sm_72")
failed=0 checked=0
judge() {
  local from=$1 report=$2 kernels registers spills
  kernels=$(grep -c 'Used [0-9]* registers' <<<"$report" || true)
  registers=$(grep -o 'Used [0-9]* registers' <<<"$report" | grep -o '[0-9]*' | sort -n | xargs)
  spills=$(grep -o '[0-9]* bytes spill [a-z]*' <<<"$report" | grep -vc '^0 ' || true)
  echo "sm_$arch from $from: $kernels kernels, registers $registers, with spills: $spills"
  [ "$kernels" -eq 4 ] && [ "$spills" = 0 ] || failed=1
  checked=$((checked + 1))
}
for arch in 53 62 72 75 87 101 110; do
  grep -qw "sm_$arch" <<<"$known" || { echo "sm_$arch: not known to this nvcc"; continue; }
  judge source "$("$nvcc" -cubin -arch="sm_$arch" -std=c++14 -O3 --fmad=false -Xptxas -v \
    -I "$checkout" -o /dev/null "$checkout/estimators/cuda/kernels.cu" 2>&1)"
  if [ -f "$ptx" ] && [ -x "$ptxas" ]; then
    judge PTX "$("$ptxas" -v -arch="sm_$arch" -o /dev/null "$ptx" 2>&1)"
  fi
done
[ "$checked" -gt 0 ] || { echo "no architecture was checked"; exit 1; }
exit $failed
