#!/usr/bin/env bash
# check_spills.sh NVCC CHECKOUT: compiles the CUDA plugin for every Jetson the nvcc knows and fails
# if any kernel spills registers to memory. Without an nvcc it says so and is skipped.
set -euo pipefail
nvcc=$1 checkout=$2
if ! [ -x "$nvcc" ]; then
  echo "skipped: nvcc was not found, spills cannot be checked"
  exit 77
fi
known=$("$nvcc" --list-gpu-code 2>/dev/null || echo "sm_53 sm_62 sm_72")
failed=0 checked=0
for arch in 53 62 72 87 101 110; do
  grep -qw "sm_$arch" <<<"$known" || { echo "sm_$arch: not known to this nvcc"; continue; }
  report=$("$nvcc" -cubin -arch="sm_$arch" -std=c++14 -O3 --fmad=false -Xptxas -v \
    -I "$checkout" -o /dev/null "$checkout/estimators/cuda/plugin.cu" 2>&1)
  kernels=$(grep -c 'Used [0-9]* registers' <<<"$report" || true)
  registers=$(grep -o 'Used [0-9]* registers' <<<"$report" | grep -o '[0-9]*' | sort -n | xargs)
  spills=$(grep -o '[0-9]* bytes spill [a-z]*' <<<"$report" | grep -vc '^0 ' || true)
  echo "sm_$arch: $kernels kernels, registers $registers, kernels with spills: $spills"
  [ "$kernels" -ge 2 ] && [ "$spills" = 0 ] || failed=1
  checked=$((checked + 1))
done
[ "$checked" -gt 0 ] || { echo "no architecture was checked"; exit 1; }
exit $failed
