#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# names.sh CTEST BUILD TESTS: the names of all tests of BUILD follow the scheme of tests/README.md, COMPONENT.AREA.CASE or COMPONENT.AREA.CASE.DEVICE, where COMPONENT
# is a folder of TESTS, and each test has its component as a label, so that tools/check COMPONENT runs it.
set -u
ctest=$1 build=$2 tests=$3 bad=0
device='host|host-O0|host-checked|null|cuda|gfx[0-9a-f]+'
fail() { echo "$*"; bad=1; }
names() { "$ctest" --test-dir "$build" -N "$@" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p' | sort; }

all=$(names)
[ -n "$all" ] || fail "no tests in $build"
while read -r name; do
    [[ $name =~ ^([a-z]+)\.[a-z0-9_]+\.([a-z0-9_]+|$device)(\.($device))?$ ]] || { fail "$name: not COMPONENT.AREA.CASE or COMPONENT.AREA.CASE.DEVICE"; continue; }
    [ -d "$tests/${BASH_REMATCH[1]}" ] || fail "$name: there is no folder tests/${BASH_REMATCH[1]}"
done <<<"$all"
for folder in "$tests"/*/; do
    component=$(basename "$folder")
    other=$(diff <(grep "^$component\." <<<"$all") <(names -L "^$component\$" | grep "^$component\.") | sed -n 's/^< //p')
    [ -z "$other" ] || fail "without the label $component:" $other
done
exit $bad
