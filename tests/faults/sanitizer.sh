#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What compute-sanitizer's four tools say of the kernels of this folder, on a machine with an NVIDIA GPU, its driver and CUDA's toolkit:
#   tests/faults/sanitizer.sh APP >tests/faults/sanitizer.txt       APP: build/tests/replay/replay_app
# A line for each kernel: file, kernel, whether it is faulty, and how many errors each tool reports ("-": none, "?": it ended otherwise).
set -u
[ $# = 1 ] || { sed -n '3,6s/^# \{0,1\}//p' "$0"; exit 2; }
app=$(realpath "$1") || exit 2
cd "$(dirname "$0")" || exit 2
command -v compute-sanitizer >/dev/null || { echo "sanitizer.sh: there is no compute-sanitizer in PATH (it is in CUDA's toolkit)" >&2; exit 2; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# one FILE KERNEL NAME OPTION...: the errors into a file.
one() {
    local file=$1 kernel=$2 name=$3 said
    shift 3
    said=$(timeout 120 compute-sanitizer "$@" "$app" kernels "$file" "$kernel" 2>&1)
    printf '%s\n' "$said" >"$dir/$kernel.$name.text"
    # memcheck's own summary, or racecheck's ("RACECHECK SUMMARY: 1 hazard displayed").
    local n
    n=$(printf '%s\n' "$said" | sed -n 's/^=* *ERROR SUMMARY: \([0-9]*\) error.*/\1/p; s/^=* *RACECHECK SUMMARY: \([0-9]*\) hazard.*/\1/p' | tail -1)
    case $n in '') n='?' ;; 0) n=- ;; esac
    echo "$n" >"$dir/$kernel.$name"
}

if query=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null); then
    echo "# $query; $(compute-sanitizer --version | sed -n 's/.*[Vv]ersion //p' | tail -1); $(date +%F)"
fi
printf '%-10s %-28s %-8s %9s %9s %9s %9s\n' '# file' kernel is memcheck racecheck initcheck synccheck
for file in memcheck racecheck initcheck synccheck; do
    mapfile -t kernels < <(sed -n 's/^\.visible \.entry \([a-z_]*\)(.*/\1/p' $file.ptx)
    for k in "${kernels[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
        (
            one $file.ptx "$k" memcheck --tool memcheck
            one $file.ptx "$k" racecheck --tool racecheck
            one $file.ptx "$k" initcheck --tool initcheck
            one $file.ptx "$k" synccheck --tool synccheck
        ) &
    done
    wait
    for k in "${kernels[@]}"; do
        is=$(awk -v k=".entry $k(" 'index($0, k) { on = 1 } /^}/ { on = 0 } on && /\/\/ fault: / { f = 1 } END { print f ? "faulty" : "correct" }' $file.ptx)
        printf '%-10s %-28s %-8s' $file "$k" "$is"
        for t in memcheck racecheck initcheck synccheck; do printf ' %9s' "$(cat "$dir/$k.$t")"; done
        echo
    done
done
[ -z "${TEXTS:-}" ] || { mkdir -p "$TEXTS" && cp "$dir"/*.text "$TEXTS"; }
