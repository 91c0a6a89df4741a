#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# exceptions.sh CUDAWAY-TRACE PROGRAM: a recorded program whose functions throw through calls (tests/driver/test_exceptions.cpp) goes as one that is not
# recorded, and a call that an exception leaves is over then: what follows is not within it.
. "$(dirname "$0")/case.sh"
trace=$1 program=$2
want 0 "$trace" record -o rec -- "$program"
want 0 "$trace" show rec
has out 'cuUserObjectRelease('
has out 'cuGraphDestroy('
grep -E 'cuUserObjectRelease|cuGraphDestroy' out | grep unfinished && fail "left by an exception, and not over"
grep -E '^\[[0-9:.]+\] [0-9]+/[0-9]+  ' out && fail "within another call"
exit $bad
