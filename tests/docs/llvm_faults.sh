#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# llvm_faults.sh FOLDER LLVM_CONFIG: each *.ll and *.mir of the folder shows the fault that it describes. Its RUN line is a command of LLVM's, with %s for
# the file; the text of its FAULT line is in the output.
dir=$1 bin=$("$2" --bindir) failed=0 seen=0
[ -x "$bin/llc" ] && [ -x "$bin/opt" ] || { echo "llc and opt are not installed in $bin"; exit 77; }
for f in "$dir"/*.ll "$dir"/*.mir; do
    run=$(sed -n 's/^[;#] RUN: *//p' "$f") fault=$(sed -n 's/^[;#] FAULT: *//p' "$f")
    [ -n "$run" ] && [ -n "$fault" ] || { echo "$f: RUN or FAULT is missing"; failed=1; continue; }
    tool=${run%% *} arguments=${run#* }
    seen=$((seen + 1))
    # shellcheck disable=SC2086
    if ! "$bin/${tool%-[0-9]*}" $(printf '%s' "$arguments" | sed "s|%s|$f|") 2>&1 | grep -qF -e "$fault"; then
        echo "$f: no \"$fault\" in the output of $run: LLVM is repaired, or does it otherwise"
        failed=1
    fi
done
[ "$seen" -gt 0 ] || { echo "$dir: no inputs"; exit 1; }
echo "$seen inputs"
exit $failed
