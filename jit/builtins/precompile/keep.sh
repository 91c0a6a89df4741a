#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run a command that makes OUTPUT of what is in FOLDERs, or take OUTPUT from STORE where another build of the same contents put it.
#   keep.sh STORE WHAT OUTPUT COMMAND -- FOLDER...      WHAT: text of all else that OUTPUT depends on
# STORE keeps the files of one state of the sources. Of two builds at the same time the second waits for the first.
set -euo pipefail
store=$1 what=$2 output=$3 command=()
shift 3
while [ "$1" != -- ]; do command+=("$1"); shift; done
shift
key=$({ echo "$what"; find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 cat; find "$@" -type f -printf '%P %s\n' | LC_ALL=C sort; } | sha256sum | cut -d ' ' -f 1)
kept=$store/$key-${output##*/}
mkdir -p "$store"
exec 9>"$store/lock"
flock 9
if [ -f "$kept" ]; then
    cp "$kept" "$output"
    exit
fi
"${command[@]}"
rm -f "$store"/*-"${output##*/}"
cp "$output" "$kept.$$"
mv "$kept.$$" "$kept"
