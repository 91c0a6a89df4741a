#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checkers of cudaway-replay find nothing in launches that are right. Usage: correct.sh DUMP|FOLDER|FILE.ptx...; of PTX tests
# (docs/ptx-tests.md) the launches are dumped first. The environment names PTXTEST, REPLAY, TRACE_DIR, in ON the devices (host), and with EVERY=N each
# Nth launch alone is looked at; at least LEAST (8) have to be.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir
failed=0 n=0 at=0 refused=0         # refused: kernels of clusters, of which REFUSED are known (isa/sync has 18)
fail() { echo "FAILED: $*"; failed=1; }

# Launches that are not right, or that no device here executes: FILE-KERNEL reason.
known() {
    case $1 in
    undefined | sum | weak)  echo "reads undefined registers on purpose" ;;
    *)                       return 1 ;;
    esac
}
# The runner loads the library that lies beside it: here the trace layer, which dumps what it launches.
mkdir -p "$dir/t/bin" "$dir/t/lib/cudaway"
cp "$PTXTEST" "$dir/t/bin/ptxtest"
ln -s "$TRACE_DIR/libcuda.so.1" "$dir/t/lib/cudaway/libcuda.so.1"
for what; do
    dumps=("$what")
    if [ -d "$what" ] || [ "${what%.ptx}" != "$what" ]; then
        rm -rf "$dir/dumps"
        CUDAWAY_DUMP_LIMIT=1000 CUDAWAY_DUMP_DIR=$dir/dumps "$dir/t/bin/ptxtest" --on host "$what" >"$dir/out" 2>&1
        dumps=("$dir"/dumps/*.cwdump)
        [ -f "${dumps[0]}" ] || { fail "$what: no dumps"; cat "$dir/out"; continue; }
    fi
    for d in "${dumps[@]}"; do
        at=$((at + 1))
        [ $((at % ${EVERY:-1})) = 0 ] || continue
        kernel=$(basename "$d" .cwdump)
        for on in ${ON:-host}; do
            timeout 600 "$REPLAY" --on "$on" --memcheck --racecheck --initcheck --synccheck "$d" >"$dir/out" 2>&1
            got=$?
            # One that fails as it is, as some tests expect, is not right.
            [ $got = 0 ] || timeout 600 "$REPLAY" --on "$on" "$d" >/dev/null 2>&1 || continue
            [ $got = 2 ] && grep -q "clusters, which cannot be checked" "$dir/out" && refused=$((refused + 1)) && continue
            n=$((n + 1))
            [ $got = 0 ] || known "${kernel#*-}" >/dev/null || { fail "$what: $kernel gave $got on $on"; cat "$dir/out"; }
        done
    done
done
echo "$n launches"
[ $refused -le "${REFUSED:-18}" ] || fail "$refused launches were refused"
[ $n -ge "${LEAST:-8}" ] || fail "only $n launches were checked"
exit $failed
