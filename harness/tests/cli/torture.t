#!/bin/sh
# TAP: the short form of `make torture`: a study killed at random moments and resumed loses nothing and leaves nothing.
cd "$(dirname "$0")/../torture" || exit 2
echo 1..1
output=$(TORTURE_KILLS="${TORTURE_KILLS:-20}" python3 torture.py 2>&1)
status=$?
echo "$output" | sed 's/^/# /'
[ $status -eq 0 ] || printf 'not '
echo 'ok 1 - no cell lost or double, nothing left running'
exit $status
