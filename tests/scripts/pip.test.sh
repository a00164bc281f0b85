#!/usr/bin/env bash
# pip installs the Python module from the tree, without a network, and from the wheel of `make wheel`: each brings the
# library along. Writes TAP.
set -u
. tests/scripts/support.sh

python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3)
reason=
[ -n "$python" ] || reason="there is no python3"
[[ ${TREFOIL_OUT:-build/gcc} != *-* ]] || reason="a sanitizer or gcov cannot be loaded into Python"
[ -n "$reason" ] || "$python" -m venv "$folder/venv" >"$folder/log" 2>&1 || reason="python3-venv or pip is absent"
if [ -n "$reason" ]; then
    skip "pip installs the Python module" "$reason"
    end_test
fi
unset LD_LIBRARY_PATH PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1 PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
tests/scripts/support_results.sh "$folder"
result $? "two results are made"
cat >"$folder/ask.py" <<'X'
import sys

import trefoil

with trefoil.Model(sys.argv[1] + "/tree") as model:
    assert abs(model.query("SELECT COUNT(*) FROM t").value - model.total) < 1e-6
with open("/proc/self/maps", encoding="utf-8") as maps:
    loaded = {line.split(None, 5)[5].strip() for line in maps if "libtrefoil" in line}
assert len(loaded) == 1 and loaded.pop().startswith(sys.prefix), loaded
X

answers() { # WHAT WORDS: once installed, away from the tree
    "$folder/venv/bin/python" -m pip install -q "$1" >"$folder/log" 2>&1 &&
        (cd / && "$folder/venv/bin/python" -W error "$folder/ask.py" "$folder") >>"$folder/log" 2>&1 &&
        "$folder/venv/bin/python" -m pip uninstall -q -y trefoil >>"$folder/log" 2>&1 &&
        [ -z "$(find "$folder/venv" -name '*trefoil*')" ]
    local status=$?
    [ $status -eq 0 ] || sed 's/^/# /' "$folder/log"
    result $status "$2"
}
answers ./tools/python "pip installs from the tree, answers with the library that it brought, and removes it"
make --no-print-directory wheel WHEELS="$folder/wheels" >"$folder/log" 2>&1 || sed 's/^/# /' "$folder/log"
answers "$(echo "$folder"/wheels/trefoil-*.whl)" "so it does from a wheel"
end_test
