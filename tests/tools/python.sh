#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# python.sh BUILD SOURCE VERSION VECTOR_PTX [CLANG]: the wheel of tools/python is built and installed into an environment of its own; its tests (python_test.py) run there on the host
# and on the GPU-less AMD device. PYTHON names the interpreter. Skipped (77) where that has no NumPy, venv or setuptools.
set -u
build=$1 src=$2 version=$3 vector=$4 clang=${5:-} bad=0
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import numpy, venv, ensurepip, setuptools, wheel' 2>/dev/null || { echo "skipped: $python has no NumPy, venv, setuptools or wheel"; exit 77; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; bad=1; }
cp -r "$src/tools/python" "$dir/source"
grep -qx "version = \"$version\"" "$dir/source/pyproject.toml" || fail "the package is not of version $version"

"$python" -m venv --system-site-packages "$dir/environment" || fail "venv"
pip() { "$dir/environment/bin/python" -m pip -q --disable-pip-version-check --no-input --isolated "$@"; }
pip wheel --no-index --no-deps --no-build-isolation -w "$dir/wheels" "$dir/source" >"$dir/log" 2>&1 || { tail -n 10 "$dir/log"; exit 1; }
wheel=$(echo "$dir"/wheels/*)
[ "${wheel##*/}" = "cudaway-$version-py3-none-any.whl" ] || fail "the wheel is ${wheel##*/}"
pip install --no-index --no-deps "$wheel" >"$dir/log" 2>&1 || { tail -n 10 "$dir/log"; exit 1; }

export CUDAWAY_CACHE_DIR=$dir/cache CUDA_HOME=/nonexistent PREFIX=$build VECTOR_PTX=$vector CLANG=$clang
unset CUDAWAY_DEVICE
cd "$dir" || exit 2
for device in host gfxemu:gfx1100; do
    CUDAWAY_DEVICE=$device timeout 200 "$dir/environment/bin/python" "$src/tests/tools/python_test.py" >log 2>&1 || { head -n 40 log; fail "on $device"; }
    grep -q '^OK' log || fail "on $device: $(tail -n 1 log)"
    grep 'skipped=' log
done
exit $bad
