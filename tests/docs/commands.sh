#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# commands.sh FILE.md SOURCE BUILD [UNSTEADY]: runs the commands of a document's indented blocks, lines "    $ COMMAND", in one new folder, and compares
# what each prints with the lines below it. Times, sizes, dates, processes and addresses may differ; "..." stands for any text.
# Of a command in which UNSTEADY occurs the output is not compared.
set -u
doc=$1 source=$2 build=$3 unsteady=${4:-}
dir=$(mktemp -d /tmp/commands-XXXXXX)
trap 'rm -rf "$dir"' EXIT
# The documents' outputs are those of a CPU with 16 lanes.
grep -qw avx2 /proc/cpuinfo || { echo 'skipped: no AVX2'; exit 77; }
export CUDAWAY=$source BUILD=$build CLANG=${CLANG:-clang-22} CUDAWAY_CACHE_DIR=$dir/.cache PATH=$build/bin:$PATH NO_COLOR=1
for v in CUDAWAY_DEVICE CUDAWAY_CUDA_LIBRARY; do unset $v; done
cd "$dir" || exit 2
bad=0 ran=0

# What may differ from run to run becomes one word, and runs of blanks one blank.
mask() {
    sed -E -e 's/\x1b\[[0-9;]*m//g' -e 's/0x[0-9a-f]+/ADDRESS/g' -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/DATE/g' -e 's/[0-9]{8}-[0-9]{6}/STAMP/g' \
        -e 's/[0-9a-f]{64}/HASH/g' -e 's/[0-9]+(\.[0-9]+)? ?(ms|us|ns|s|MiB|KiB|GB\/s)\b/AMOUNT/g' -e 's/[0-9]+\.[0-9]+(e[-+][0-9]+)?/NUMBER/g' -e 's/ +/ /g' -e 's/ $//'
}

check() {
    local got want
    [ -n "$command" ] || return
    ran=$((ran + 1))
    got=$(eval "$command" 2>&1 | mask)
    want=$(printf '%s' "$expected" | mask)
    # The expected text as a pattern of the shell: all of it literal, but for "...".
    want=$(printf '%s' "$want" | sed -e 's/[][\\*?]/\\&/g' -e 's/\.\.\./*/g')
    want=${want//$'\n*\n'/$'\n*'}       # a line of its own: none, or any number of lines
    # shellcheck disable=SC2053
    [[ $got == $want ]] && return
    [[ -n $unsteady && $command == *"$unsteady"* ]] && return
    echo "$doc: $command"
    diff <(printf '%s\n' "$expected" | mask) <(printf '%s\n' "$got")
    bad=1
}

command='' expected=''
while IFS= read -r line; do
    case $line in
        '    $ '*) check; command=${line#'    $ '} expected='' ;;
        '    '*) [ -n "$command" ] && expected+=${expected:+$'\n'}${line#'    '} ;;
        *) check; command='' ;;
    esac
done <"$doc"
check
[ $ran -gt 0 ] || { echo "$doc has no commands"; exit 1; }
echo "$ran commands"
exit $bad
