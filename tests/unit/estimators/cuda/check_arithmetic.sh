#!/usr/bin/env bash
# check_arithmetic.sh FAKE_CUDA_FOLDER PTX CONTRACTED: the PTX that ships holds nothing but arithmetic that
# rounds as the CPU's does; the same kernels compiled with contraction are refused by the check and, since
# they are not in its table, by the translator.
set -euo pipefail
"$1/check_ptx.py" "$2"
for try in "$1/check_ptx.py $3" "$1/translate_ptx.py $3 /dev/null"; do
  if said=$($try 2>&1); then echo "not refused: $try"; exit 1; fi
  grep -Eq 'fma\.rn|: operation ' <<<"$said" || { echo "refused for another reason: $said"; exit 1; }
done
for bad in 'add.ftz.rn.f32 %f1, %f2, %f3' 'rcp.approx.f64 %fd1, %fd2' 'sqrt.approx.f32 %f1, %f2' \
    'div.full.f32 %f1, %f2, %f3' 'add.f64 %fd1, %fd2, %fd3' 'add.rz.f64 %fd1, %fd2, %fd3' 'ex2.approx.f32 %f1, %f2' \
    'min.f64 %fd1, %fd2, %fd3' 'setp.lt.ftz.f32 %p1, %f1, %f2'; do
  if "$1/check_ptx.py" <(cat "$2"; printf '\t%s;\n' "$bad") >/dev/null 2>&1; then echo "not refused: $bad"; exit 1; fi
done
