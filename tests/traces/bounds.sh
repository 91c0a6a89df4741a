#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bounds.sh FOLDER REPLAY: launches that NVIDIA's compiler fused, and sums that were added in another order, differ within the bounds of their roundings; races and
# memory that nobody wrote do not.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir
"$2" --check --bounds --on host --json "$1"/*-1.cwdump >"$dir/out"
python3 - "$dir/out" <<'PYTHON'
import json, sys
kernels = json.load(open(sys.argv[1]))["kernels"]
wrong = [k for k in kernels if (k["severity"] == "within bounds") != k["kernel"].startswith(("fuse_", "order_"))]
for k in wrong:
    print("FAILED:", k)
sys.exit(bool(wrong) or len(kernels) != 21)
PYTHON
