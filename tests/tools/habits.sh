#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The habits that all programs share. Usage: habits.sh BIN DUMP: the folder of the programs, and a kernel dump.
#
# Of each program and each of its commands: --version and --help say what they should on standard output, and nothing on standard error. A wrong option, an
# option without its value, a value for an option that takes none: one line on standard error that names the program, nothing on standard output, the same
# status as of any wrong command line. Output that cannot be written is an error; where a pipe's reader is gone nothing is said. A folder that is
# not there, or holds nothing of the kind, is one line and an error. On a terminal there are no colours where NO_COLOR is set.
set -u
bin=$1 dump=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache TMPDIR=$work CUDAWAY_DEVICE=host
cd "$work" || exit 2
failed=0
fail() { echo "FAILED: $*"; sed 's/^/    /' err 2>/dev/null | head -n 4; failed=1; }
run() { timeout 300 "$@" >out 2>err </dev/null; status=$?; }
one_line() { # program what
    [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "$2: not one line on standard error alone ($(wc -l <err), $(wc -l <out))"
    grep -q "^$1[: ]" err || fail "$2: its line does not begin with $1"
}

# Program, what a wrong command line gives, an option that needs a value, one that takes none.
programs='
cudaway-cc           2  --target    --explain
cudaway-diff         2  --subject   --explain
cudaway-precompile   2  --device    --jobs
cudaway-ptx-fuzz     2  --seed      --forms
cudaway-ptxgen       2  -           -
cudaway-ptxtest      2  --on        --parse
cudaway-replay       2  --on        --info
'
# A command, what a wrong command line gives, the same two.
commands='
cudaway run               125  --device   -
cudaway info                2  -          --json
cudaway-trace record      125  --output   --device-time
cudaway-trace show          2  --kernel   --failed
cudaway-trace report        2  --output   --json
cudaway-trace export        2  --output   -
cudaway-trace check         2  -          --functions
cudaway-trace list          2  -          -
cudaway-trace stop          2  -          -
cudaway-trace snapshot      2  -          -
'
check() { # words usage value none
    local -a p
    read -r -a p <<<"$1"
    local name=${p[0]} usage=$2 value=$3 none=$4
    p[0]=$bin/${p[0]}
    run "${p[@]}" --version
    [ $status = 0 ] && [ ! -s err ] && [ "$(wc -l <out)" = 1 ] && grep -qE "^$name [0-9]+\.[0-9]+" out || fail "$1 --version: status $status, $(head -n 1 out)"
    run "${p[@]}" --help
    [ $status = 0 ] && [ ! -s err ] && grep -q "^usage: $1" out || fail "$1 --help: status $status"
    local -a lines=(--no-such-option --no-such-option=3 -Z)
    [ "$value" = - ] || lines+=("$value")
    [ "$none" = - ] || lines+=("$none=3")
    for wrong in "${lines[@]}"; do
        run "${p[@]}" "$wrong"
        [ $status = "$usage" ] || fail "$1 $wrong: status $status, not $usage"
        one_line "$name" "$1 $wrong"
    done
    # What nobody gets.
    timeout 300 "${p[@]}" --help >/dev/full 2>err </dev/null
    [ $? = "$usage" ] && [ "$(wc -l <err)" = 1 ] || fail "$1 --help >/dev/full"
    { sleep 0.1; exec timeout 300 "${p[@]}" --help 2>err </dev/null; } | true
    status=${PIPESTATUS[0]}
    [ "$status" = 141 ] && [ ! -s err ] || fail "$1 --help | true: status $status"
}
while read -r name usage value none; do
    [ -n "$name" ] && check "$name" "$usage" "$value" "$none"
done <<<"$programs"
while read -r name command usage value none; do
    [ -n "$name" ] && check "$name $command" "$usage" "$value" "$none"
done <<<"$commands"

# All programs that there are, and all their commands.
for p in "$bin"/cudaway*; do
    p=${p##*/}
    case $p in cudaway | cudaway-trace) ;; *) grep -q "^$p " <<<"$programs" || fail "$p is not in the table" ;; esac
done
for p in cudaway cudaway-trace; do
    run "$bin/$p" --version
    [ $status = 0 ] && grep -qE "^$p [0-9]+\.[0-9]+" out || fail "$p --version"
    run "$bin/$p" --no-such-option
    [ $status = 2 ] || fail "$p --no-such-option: status $status"
    one_line "$p" "$p --no-such-option"
    run "$bin/$p" no-such-command
    [ $status = 2 ] || fail "$p no-such-command: status $status"
    one_line "$p" "$p no-such-command"
    run "$bin/$p"
    [ $status = 2 ] || fail "$p alone: status $status"
    one_line "$p" "$p alone"
    run "$bin/$p" --help
    while read -r c; do
        # Those of cudaway that are programs of their own are above; `check` is one of cudaway-trace's.
        case "$p $c" in "cudaway trace" | "cudaway replay" | "cudaway diff" | "cudaway cc" | "cudaway precompile" | "cudaway check" | "cudaway signatures") continue ;; esac
        grep -q "^$p $c " <<<"$commands" || fail "$p $c is not in the table"
    done < <(sed -n 's/^  \([a-z]\+\) .*/\1/p; s/^  \([a-z]\+\)$/\1/p' out)
done

# Folders that are not there, and empty ones: status 2 and one line that names it.
mkdir empty
while read -r words; do
    [ -n "$words" ] || continue
    for folder in empty missing; do
        # A folder in which nothing uses CUDA lacks nothing.
        [[ $words == *check* && $words == cudaway-trace* && $folder = empty ]] && continue
        name=${words%% *}
        # shellcheck disable=SC2086
        run "$bin"/${words//DIR/$folder}
        [ $status = 2 ] || fail "${words//DIR/$folder}: status $status"
        [ "$(wc -l <err)" = 1 ] || fail "${words//DIR/$folder}: $(wc -l <err) lines"
        grep -q "^$name: .*$folder" err || fail "${words//DIR/$folder}: it does not name the folder"
    done
done <<'END'
cudaway-trace show DIR
cudaway-trace report DIR
cudaway-trace export DIR
cudaway-trace check DIR
cudaway-replay --check DIR
cudaway-replay --info DIR
cudaway-replay --explain DIR
cudaway-ptxtest DIR
cudaway-ptxtest --parse DIR
END

# Long output into a pipe whose reader leaves. The launch of a dump runs in a process of its own.
while read -r words; do
    [ -n "$words" ] || continue
    # shellcheck disable=SC2086
    { timeout 300 "$bin"/${words//DUMP/$dump} 2>err </dev/null; } | head -n 1 >first
    status=${PIPESTATUS[0]}
    [ -s first ] || fail "$words | head: nothing"
    [ ! -s err ] || fail "$words | head: status $status"
    case $status in 0 | 1 | 141) ;; *) fail "$words | head: status $status" ;; esac
    # shellcheck disable=SC2086
    { sleep 0.1; exec timeout 300 "$bin"/${words//DUMP/$dump} 2>err </dev/null; } | true
    status=${PIPESTATUS[0]}
    [ "$status" = 141 ] && [ ! -s err ] || fail "$words | true: status $status"
    # shellcheck disable=SC2086
    timeout 300 "$bin"/${words//DUMP/$dump} >/dev/full 2>err </dev/null
    status=$?
    [ $status != 0 ] && [ "$(wc -l <err)" = 1 ] || fail "$words >/dev/full: status $status"
done <<'END'
cudaway-ptx-fuzz --forms
cudaway-ptx-fuzz --print --count 200
cudaway-ptxgen candidates
cudaway-replay --info DUMP
cudaway-replay --check DUMP
cudaway info
cudaway --cudaway-page=settings
END

# Colours and cursor movements on a terminal are for those who want them.
if command -v script >/dev/null; then
    for words in "cudaway info" "cudaway-replay --info $dump" "cudaway-trace list"; do
        NO_COLOR=1 TERM=xterm timeout 300 script -qec "$bin/$words" /dev/null >out 2>err </dev/null
        ! grep -q $'\033\[[0-9;]*m' out || fail "$words on a terminal with NO_COLOR: colours"
    done
fi
[ -z "$(ls -d cudaway-* .cudaway-* 2>/dev/null)" ] || fail "files are left: $(ls -d cudaway-*)"
exit $failed
