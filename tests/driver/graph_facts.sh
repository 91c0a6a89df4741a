#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# graph_facts.sh PROGRAM OBSERVED: what this driver answers about graphs is what NVIDIA's was seen to answer.
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
grep -v '^[#!]' "$2" >"$out/want"
"$1" >"$out/got" 2>"$out/log" || { cat "$out/log"; exit 1; }
diff "$out/want" "$out/got" || { echo "(< NVIDIA's driver, > this one)"; tail -5 "$out/log"; exit 1; }
