#!/bin/sh
# Runs a test with the Python of the environment that ./dev makes; 77 when there is none.
venv=$1
shift
if ! [ -x "$venv/bin/python" ]; then
  echo "skipped: no onnxruntime; ./dev venv fetches it from PyPI"
  exit 77
fi
exec "$venv/bin/python" -B "$@"
