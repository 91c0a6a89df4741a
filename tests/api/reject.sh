#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# reject.sh APIGEN MODEL_DIR: each damage to the model must fail generation, naming the place; nothing may be written.
set -eu
apigen=$1 model=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0 cases=0

# reject NAME FILE SED-EXPRESSION EXPECTED-TEXT
reject() {
    cases=$((cases + 1))
    rm -rf "$dir/model" "$dir/out"
    mkdir "$dir/model"
    cp -r "$model"/*.json "$model"/functions "$dir/model"
    sed -i "$3" "$dir/model/$2"
    if cmp -s "$dir/model/$2" "$model/$2"; then
        echo "$1: the damage did not apply"
        failures=$((failures + 1))
        return
    fi
    rc=0
    "$apigen" --model "$dir/model" --out "$dir/out" 2> "$dir/err" || rc=$?
    if [ $rc != 1 ] || ! grep -qF -- "$4" "$dir/err" || [ -e "$dir/out" ]; then
        echo "$1: exit $rc, expected 1 with: $4"
        head -3 "$dir/err"
        failures=$((failures + 1))
    fi
}

alloc='/"cuMemAlloc_v2"/,/\] }/'
reject "no kind" functions/memory.json "$alloc s/, \"kind\": \"size\"//" "cuMemAlloc_v2: parameter bytesize: kind is missing"
reject "unknown kind" functions/memory.json "$alloc s/\"kind\": \"size\"/\"kind\": \"sized\"/" "cuMemAlloc_v2: parameter bytesize: unknown kind"
reject "no direction" functions/memory.json "$alloc s/\"dir\": \"out\", //" "cuMemAlloc_v2: parameter dptr: dir must be"
reject "out by value" functions/memory.json "$alloc s/\"dir\": \"in\"/\"dir\": \"out\"/" "cuMemAlloc_v2: parameter bytesize: a value cannot be an out parameter"
reject "unknown type" functions/memory.json "$alloc s/\"size_t\"/\"bytes_t\"/" "cuMemAlloc_v2: parameter bytesize: type bytes_t is not in the model"
reject "no since" functions/memory.json '/"cuMemAlloc_v2"/ s/"since": 3020, //' "cuMemAlloc_v2: since must be"
reject "future" functions/memory.json '/"cuMemAlloc_v2"/ s/"since": 3020/"since": 99000/' "cuMemAlloc_v2: since must be"
reject "no hip" functions/memory.json '/"cuMemAlloc_v2"/ s/"hip": "[a-zA-Z]*", //' "cuMemAlloc_v2: hip must be"
reject "no windows" functions/memory.json '/"cuMemAlloc_v2"/ s/"windows": true, //' "cuMemAlloc_v2: windows must be"
reject "lockless that is no boolean" functions/context.json '/"cuCtxGetCurrent"/ s/"lockless": true/"lockless": 1/' "cuCtxGetCurrent: lockless must be"
reject "wrong base" functions/memory.json '/"cuMemAlloc_v2"/ s/"base": "cuMemAlloc"/"base": "cuMemFree"/' "cuMemAlloc_v2: is no version of its base cuMemFree"
reject "twice" functions/memory.json 's/"cuMemAlloc_v2"/"cuMemAlloc"/' "cuMemAlloc: described twice"
reject "array without length" functions/graph.json '/"cuGraphAddDependencies"/,/\] }/ s/, "length": "numDependencies"//' "cuGraphAddDependencies: parameter from: kind array needs a length"
reject "array without of" functions/graph.json '/"cuGraphAddDependencies"/,/\] }/ s/, "of": "handle"//' "cuGraphAddDependencies: parameter from: an array needs"
reject "length of nothing" functions/graph.json '/"cuGraphAddDependencies"/,/\] }/ s/"length": "numDependencies"/"length": "nothing"/' "cuGraphAddDependencies: parameter from: length names no parameter"
reject "length by pointer" functions/graph.json '/"cuGraphAddDependencies"/,/\] }/ s/"length": "numDependencies"/"length": "*numDependencies"/' "does not fit that parameter"
reject "flags without enumeration" functions/event.json '/"cuEventCreate"/,/\] }/ s/, "flags": "CUevent_flags"//' "cuEventCreate: parameter Flags: flags needs"
reject "unknown flags" functions/event.json '/"cuEventCreate"/,/\] }/ s/"CUevent_flags"/"CUno_flags"/' "cuEventCreate: parameter Flags: no enumeration CUno_flags"
reject "enum that is none" functions/device.json '/"cuDeviceGetAttribute"/,/\] }/ s/"CUdevice_attribute"/"CUdevice"/' "cuDeviceGetAttribute: parameter attrib: CUdevice is no enumeration"
reject "value without selector" functions/memory.json '/"cuPointerGetAttribute"/,/\] }/ s/, "selector": "attribute"//' "cuPointerGetAttribute: parameter data: a typed value needs its selector"
reject "status of nothing" status.json 's/"unsupported": {/"unsupported": { "cuNothing": "a reason" }, "rest": {/' "status: cuNothing is not in the model"
reject "partial without reason" status.json 's/"partial": {/"partial": { "cuGraphDestroy": "" }, "rest": {/' "partial: cuGraphDestroy needs a reason"
reject "malformed" functions/event.json '1s/{/[/' "functions/event.json"
reject "truncated" types.json '$d' "types.json"
reject "missing file" model.json 's/log.json/logs.json/' "functions/logs.json: cannot be read"
echo "$cases cases, $failures failures"
[ $failures = 0 ]
