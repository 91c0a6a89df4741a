#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The programs of tests/runtime on NVIDIA's driver, with NVIDIA's static Runtime inside: what they expect is CUDA's.
#   tests/runtime/nvidia.sh build FOLDER    with nvcc (NVCC, default nvcc)
#   tests/runtime/nvidia.sh run FOLDER      on a machine with an NVIDIA GPU: a line a program, behind it what differs and, as notes, what the
#                                           manual leaves open; status 1 if one fails
# The folder can be built on one machine and run on another.
set -u
[ $# = 2 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
programs="launch memory symbol stream error device thread managed array graph pool function conditional cluster dynamic"
bad=0
case $1 in
    build)
        mkdir -p "$2" || exit 2
        for p in $programs; do
            flags=(-gencode 'arch=compute_80,code=compute_80')
            [ "$p" != cluster ] || flags=(-gencode 'arch=compute_90,code=compute_90')
            case $p in
                error | device | thread) flags+=(-lpthread -lcuda) ;;
                conditional | dynamic) flags+=(-rdc=true -lcudadevrt) ;;
            esac
            "${NVCC:-nvcc}" -cudart static -Wno-deprecated-declarations -o "$2/$p" "$here/$p.cu" "${flags[@]}" || { echo "$p: is not built"; bad=1; }
        done
        ;;
    run)
        for p in $programs; do
            NVIDIA_RUNTIME=1 timeout 300 "$2/$p" >"$2/$p.out" 2>&1
            status=$?
            echo "$p: $([ $status = 0 ] && echo passes || echo "status $status")"
            if [ $status = 0 ]; then grep ': note:' "$2/$p.out" | sed 's/^/    /'; else sed 's/^/    /' "$2/$p.out"; bad=1; fi
        done
        ;;
    *) echo "tests/runtime/nvidia.sh: unknown command $1" >&2; exit 2 ;;
esac
exit $bad
