#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# left.sh CUDAWAY-TRACE PROGRAM...: recorded programs that leave calls by a long jump out of their handler of SIGSEGV (tests/left.h) go as ones that are not
# recorded: events touch nothing that cannot be read, so LTTng's locks are never left. With --dump-kernels a capture has a lock of its own during a launch.
. "$(dirname "$0")/case.sh"
trace=$1
shift
for program; do
    for dump in "" --dump-kernels; do
        # shellcheck disable=SC2086
        want 0 timeout -s KILL 120 "$trace" record $dump -o "$(basename "$program")$dump" -- "$program" 4
        grep -qE '^[1-9][0-9]{2,} calls left' out || fail "$program: $(cat out)"
    done
done
exit $bad
