#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several dumps, folders, JSON and standard input. The environment names APP, REPLAY, TOOL, TRACE_DIR, PTX (explain.ptx).
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir CUDAWAY_DEVICE=host
cd "$dir" || exit 2
failed=0
fail() { echo "FAILED: $*"; cat out; failed=1; }
sed -E 's|^ .*// other: (.*)$|    \1|' "$PTX" >other.ptx
CUDAWAY_DUMP_DIR=here LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$PTX" fault_constant fault_rounding >out 2>&1 || fail "the program gave $?"
CUDAWAY_DUMP_DIR=there LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels other.ptx fault_constant >out 2>&1 || fail "the program gave $?"
"$TOOL" results here/*fault_constant.cwdump there/*fault_constant.cwdump wrong.cwdump || fail results

"$REPLAY" --check here >out 2>&1 || fail "a folder of right ones gave $?"
[ "$(grep -c '^     0  here/000[12]-fault_[a-z]*\.cwdump  fault_[a-z]* on .*: the results are the recorded ones$' out)" = 2 ] && [ "$(wc -l <out)" = 3 ] || fail "its table"
for limit in CUDAWAY_ISOLATE=1 CUDAWAY_COMPILE_LIMIT=1000; do       # a process to run kernels, which a confined replay needs not, and one to compile them
    env CUDAWAY_CACHE_SIZE=0 "$limit" "$REPLAY" --check here >out 2>&1 || fail "$limit gave $?"
done
"$REPLAY" --check here wrong.cwdump >out 2>&1
[ $? = 1 ] && grep -q '^     1  wrong.cwdump .*fault_constant on .*: the results differ' out || fail "one that differs"
"$REPLAY" --check wrong.cwdump none.cwdump >out 2>&1
[ $? = 2 ] && grep -q '^     2  none.cwdump ' out && grep -q '^     1  wrong.cwdump ' out || fail "one that is not there"
"$REPLAY" --check --json here wrong.cwdump >out
[ $? = 1 ] && python3 -c '
import json
d = json.load(open("out")); a = d["dumps"]
assert d["status"] == 1 and d["compared"] == 3 and d["severities"]["same"] == 2 and [k["kernel"] for k in d["kernels"]] == ["fault_constant"], d
assert [x["status"] for x in a] == [0, 0, 1] and a[2]["dump"] == "wrong.cwdump" and "differ" in a[2]["says"], a' || fail "JSON"
"$REPLAY" --check - <wrong.cwdump >out 2>&1
[ $? = 1 ] && grep -q "fault_constant on .*: the results differ" out || fail "standard input"
mkdir piped && cp here/0001-* piped && mkfifo piped/pipe.cwdump
timeout 300 "$REPLAY" --check piped >out 2>&1
[ $? = 2 ] && grep -q 'piped/pipe.cwdump: not a regular file' out && grep -q '^     0  piped/0001-' out || fail "a pipe in a folder"
TMPDIR=/nonexistent "$REPLAY" --check wrong.cwdump >out 2>&1
[ $? = 2 ] && grep -q "temporary folder in /nonexistent: " out || fail "TMPDIR=/nonexistent"
# Names that look like options; options that are abbreviated, or behind the dump. A process that ran itself again and again would do so in a namespace that ends.
mkdir ./-folder && cp wrong.cwdump ./-o.cwdump && cp wrong.cwdump ./-folder/--json.cwdump
"$REPLAY" --check -- -o.cwdump >out 2>&1
[ $? = 1 ] && grep -q "fault_constant on .*: the results differ" out || fail "-o.cwdump"
"$REPLAY" --check -- -o.cwdump -folder >out 2>&1
[ $? = 1 ] && grep -q '^     1  -o.cwdump  ' out && grep -q '^     1  -folder/--json.cwdump  .*the results differ' out || fail "-folder"
"$REPLAY" --locate --against host:O0 -- -o.cwdump >out 2>&1
[ $? = 0 ] && grep -q "the results are the same on" out || fail "--locate -- -o.cwdump"
if unshare -r -p -f --kill-child --mount-proc true 2>/dev/null; then
    timeout 20 unshare -r -p -f --kill-child --mount-proc "$REPLAY" wrong.cwdump --js --che >out 2>&1
    [ $? = 1 ] && python3 -c 'import json; a, = json.load(open("out"))["dumps"]; assert a["status"] == 1 and "differ" in a["says"], a' || fail "--js --che"
    timeout 20 unshare -r -p -f --kill-child --mount-proc "$REPLAY" --check --htm=page.html wrong.cwdump >out 2>&1
    [ $? = 1 ] && grep -q '^     1  wrong.cwdump  .*the results differ' out && grep -q "</html>" page.html || fail "--htm"
fi
mkdir -p "$dir/$(printf 'long%.0s' {1..40})"
TMPDIR=$dir/$(printf 'long%.0s' {1..40}) "$REPLAY" --explain - <wrong.cwdump >out 2>&1
[ $? = 3 ] && grep -q "^cause: translation fault" out || fail "a folder for temporary files with a long name"
"$REPLAY" --check - </dev/null >out 2>&1
[ $? = 2 ] || fail "nothing on standard input"
mkdir empty
"$REPLAY" --check empty >out 2>&1
[ $? = 2 ] && grep -q "empty: no dump" out || fail "an empty folder"
"$REPLAY" --output x.cwdump here >out 2>&1
[ $? = 2 ] || fail "--output for two"

# Groups and tolerances. in[i] + 1 was recorded, here it is in[i] + 1.5, in[i] = 1 + i / 4: all 256 elements are 1/2 apart, at most a fifth of the larger
# (2 and 2.5), and 2^21 units of 2^-22.
sed -E 's|^ .*// other: (.*)$|    \1|' "$SCALE" >other_scale.ptx
CUDAWAY_DUMP_DIR=scale LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$SCALE" plus >out 2>&1 || fail "the program gave $?"
CUDAWAY_DUMP_DIR=scale_other LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels other_scale.ptx plus >out 2>&1 || fail "the program gave $?"
mkdir planted
"$TOOL" results scale_other/*.cwdump scale/*.cwdump planted/1.cwdump && cp planted/1.cwdump planted/2.cwdump || fail results
"$REPLAY" --check planted >out 2>&1
[ $? = 1 ] && grep -qx 'plus    not looked into         2  512 of 512        0.5        0.2     2097152' out || fail "the table"
tolerate() { # status differ tolerated line
    printf '# test\n%s\n' "$4" >tol
    "$REPLAY" --check --tolerance tol --json planted/1.cwdump >out 2>&1
    [ $? = "$1" ] && python3 -c '
import json, sys
k, = json.load(open("out"))["kernels"]
assert (k["differ"], k["tolerated"]) == (int(sys.argv[1]), int(sys.argv[2])), k
assert k["severity"] == ("different" if k["differ"] else "tolerated"), k' "$2" "$3" || fail "$4"
}
tolerate 0 0 256 'plus out absolute=0.5'
tolerate 1 256 0 'plus in absolute=0.5'
tolerate 1 256 0 'plus * absolute=0.4999'
tolerate 1 6 250 'p* 1 relative=0.125'            # of 2.5 + i / 4, from i = 6 on
tolerate 1 8 248 '* * ulp=1048576'                # both at least 4, where a unit is 2^-21: from i = 8 on
"$REPLAY" --check --tolerance tol planted/1.cwdump >out 2>&1
[ $? = 1 ] && grep -q "8 of 256 f32 differ; first at byte 0.*; 248 tolerated" out || fail "the line"
printf '\nplus out absolute=x\n' >tol
"$REPLAY" --check --tolerance tol planted/1.cwdump >out 2>&1
[ $? = 2 ] && grep -q 'tol:2: not a number from 0: "absolute=x"' out || fail "a wrong tolerance"
"$REPLAY" --check --tolerance none planted/1.cwdump >out 2>&1
[ $? = 2 ] && grep -q 'cannot read the tolerances none' out || fail "a tolerance that is not there"

[ -z "$(ls -d cudaway-* .cudaway-* 2>/dev/null)" ] || fail "files are left: $(ls)"
exit $failed
