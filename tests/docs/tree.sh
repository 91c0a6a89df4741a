#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tree.sh ROOT: every file and folder of the source tree that a document names in code quotes, and every file that it links to, is there.
cd "$1" || exit 2
failed=0
for doc in README.md docs/*.md docs/*/*.md traces/README.md; do
    [ "$doc" = docs/add-a-ptx-opcode.md ] && continue       # names files that its reader makes; a test follows its steps
    for name in $(grep -oE '`(impl|jit|tracer|replay|diff|tools|tests|traces|docs)/[A-Za-z0-9_./-]*`' "$doc" | tr -d '`' | grep -vE '/[A-Z]{4,}(/|\.|$)|\.\.\.' | sort -u); do
        [ -e "$name" ] || { echo "$doc: $name is not there"; failed=1; }
    done
    for link in $(grep -oE '\]\([^)#]+' "$doc" | sed 's/^](//' | grep -v '^https\{0,1\}:' | sort -u); do
        [ -e "$(dirname "$doc")/$link" ] || { echo "$doc: link to $link"; failed=1; }
    done
done
exit $failed
