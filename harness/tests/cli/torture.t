#!/bin/sh
# TAP: the short form of `make torture`: a study killed at random moments and resumed loses nothing and leaves nothing.
cd "$(dirname "$0")/../torture" || exit 2
echo 1..1
output=$(TORTURE_KILLS="${TORTURE_KILLS:-20}" python3 torture.py 2>&1)
status=$?
echo "$output" | sed 's/^/# /'
if [ $status -ne 0 ]; then
    # Who runs the tests sees standard error only: the seed, what was wrong, what the study said.
    { echo "$output" | head -1; echo "$output" | tail -40; } | sed 's/^/# /' >&2
    printf 'not '
fi
echo 'ok 1 - no cell lost or double, nothing left running'
exit $status
