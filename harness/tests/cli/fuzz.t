#!/bin/sh
# TAP: ten seconds of fuzzing for the answer parser, three for every other reader of foreign bytes.
root=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$root/harness/tests/fuzz" || exit 2
if ! echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n > 0; }' |
    clang -fsanitize=fuzzer,address -x c -o /dev/null - 2>/dev/null; then
    echo '1..0 # SKIP no clang with libFuzzer (apt-get install clang libclang-rt-14-dev)'
    exit 0
fi
set -- fuzz_*.c
echo "1..$#"
number=0
failed=0
for file in "$@"; do
    number=$((number + 1))
    target=${file#fuzz_}
    target=${target%.c}
    seconds=3
    [ "$target" != http_answer ] || seconds=10
    if output=$(make -s FUZZ_SECONDS=$seconds FUZZ_TARGETS="$target" 2>&1); then
        echo "ok $number - $target"
    else
        echo "not ok $number - $target"
        failed=1
    fi
    echo "$output" | sed 's/^/# /'
done
exit $failed
