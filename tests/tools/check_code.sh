#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_code.sh CUDAWAY-CC FILECHECK FILE.ptx [ARCH...]: for each line "// check PREFIXES = OPTIONS" of the file, what `cudaway-cc OPTIONS FILE` writes has the file's
# patterns of these prefixes (tests/README.md). %arch among the options stands for each ARCH: one run each. "OPTIONS | TOOL ARGUMENTS": what that tool of LLVM's prints of it.
set -u
cc=$1 filecheck=$2 file=$3 bad=0 runs=0
shift 3
[ -x "$filecheck" ] || { echo "skipped: no FileCheck (package llvm-22-tools)"; exit 77; }
out=$(mktemp) || exit 2
trap 'rm -f "$out" "$out.text"' EXIT

check() {       # PREFIXES OPTIONS
    local options=${2%%|*} tool=
    runs=$((runs + 1))
    [ "$options" = "$2" ] || tool=${2#*| }
    # shellcheck disable=SC2086
    if ! "$cc" $options "$file" -o "$out"; then
        echo "$file: cudaway-cc $options fails"
        bad=1
    elif [ -n "$tool" ] && ! { "$(dirname "$(realpath "$filecheck")")"/$tool "$out" >"$out.text" && mv "$out.text" "$out"; }; then
        echo "$file: $tool fails"
        bad=1
    elif ! "$filecheck" --check-prefixes="$1" --input-file="$out" --dump-input-context=12 "$file"; then
        echo "$file: the output of cudaway-cc $2 has not the patterns of $1"
        bad=1
    fi
}

while read -r prefixes options; do
    case $options in
        *%arch*) for arch; do check "$prefixes" "${options//%arch/$arch}"; done ;;
        *) check "$prefixes" "$options" ;;
    esac
done < <(sed -n 's|^// check \([A-Z0-9_,]*\) = |\1 |p' "$file")
[ $runs -gt 0 ] || { echo "$file: no line \"// check PREFIXES: OPTIONS\", or none for these processors"; exit 1; }
exit $bad
