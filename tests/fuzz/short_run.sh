#!/bin/sh
# short_run.sh FUZZER SECONDS: a bounded run on its own corpus; exit 77 (skip) if it is not built. A finding is 1:
# libFuzzer's own code for one is 77 too.
[ -x "$1" ] || { echo "skipped: $1 is not built; ./dev test or ./dev fuzz builds it"; exit 77; }
corpus=$(mktemp -d) || exit 1
trap 'rm -rf "$corpus"' EXIT
cd "$corpus" || exit 1
"$1" -max_total_time="$2" -max_len=65536 -rss_limit_mb=1024 -timeout=10 -len_control=10 \
  -error_exitcode=1 -timeout_exitcode=1 \
  -verbosity=0 -print_funcs=0 -print_final_stats=1 -seed=1 "$corpus"
