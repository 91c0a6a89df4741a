#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# levels.sh PTXTEST INNER FILE: cuda:O0 and cuda-native:O0 ask the driver below (inner.c) for no optimisation, cuda and cuda-native for
# nothing; a level that does not exist is an error.
status=0
for case in cuda:default cuda-native:default cuda:O0:0 cuda-native:O0:0; do
    device=${case%:*} want=${case##*:}
    out=$(INNER_LEVELS=1 CUDAWAY_CUDA_LIBRARY=$2 "$1" --on "$device" "$3" 2>&1)
    case $out in
        *"inner driver: level $want"*" 0 failed"*) ;;
        *) echo "$device: no \"level $want\" in: $out"; status=1 ;;
    esac
done
out=$(CUDAWAY_CUDA_LIBRARY=$2 "$1" --on cuda:O1 "$3" 2>&1) && { echo "cuda:O1 is taken: $out"; status=1; }
exit $status
