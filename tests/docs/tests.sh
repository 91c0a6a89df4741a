#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests.sh ROOT CTEST BUILD: every "ctest -R PATTERN" in a document selects a test, of the configuration soak or not.
cd "$1" || exit 2
names=$("$2" --test-dir "$3" -C soak -N 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p')
[ -n "$names" ] || { echo "no tests in $3"; exit 1; }
failed=0
for doc in README.md docs/*.md docs/*/*.md; do
    for pattern in $(grep -oE 'ctest[^`]* -R [A-Za-z0-9_.*|^$-]+' "$doc" | sed 's/.* -R //' | sort -u); do
        echo "$names" | grep -qE -e "$pattern" || { echo "$doc: ctest -R $pattern selects no test"; failed=1; }
    done
done
exit $failed
