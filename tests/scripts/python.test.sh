#!/usr/bin/env bash
# The Python module, with the system's Python: it agrees with the program and with docs/python.md. Writes TAP.
set -u
. tests/scripts/support.sh

python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3)
reason=
[ -n "$python" ] || reason="there is no python3"
[[ ${TREFOIL_OUT:-build/gcc} != *-* ]] || reason="a sanitizer or gcov cannot be loaded into Python"
if [ -n "$reason" ]; then
    skip "the Python module" "$reason"
    end_test
fi
tests/scripts/support_results.sh "$folder" || { result 1 "two results are made"; end_test; }
export LD_LIBRARY_PATH=$PWD/${TREFOIL_OUT:-build/gcc} PYTHONPATH=$PWD/tools/python PYTHONDONTWRITEBYTECODE=1
$python -W error tests/scripts/python_checks.py "$folder" "$trefoil" "$PWD" || exit 1
