#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pages.sh BIN SHARE PROGRAM...: --help, manual page and completions of each program are complete, well-formed and of one style; wrong command lines get
# one line that names the next step. The shells that are here complete as a user would ask them to.
set -u
bin=$1 share=$2 bad=0; shift 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; bad=1; }

# PROGRAM [COMMAND]: the options that its help lists.
options() { "$bin/$1" "${@:2}" --help | sed -n 's/^  \(-[A-Za-z], \|    \)--\([a-z-]*\).*/\2/p' | sort; }
check_line() {          # STATUS PATTERN PROGRAM ARGUMENTS...
    local status=$1 pattern=$2; shift 2
    "$bin/$1" "${@:2}" >"$dir/out" 2>"$dir/err"; local got=$?
    [ $got = "$status" ] || fail "status $got, not $status: $*"
    [ "$(wc -l <"$dir/err")" = 1 ] && grep -q -- "$pattern" "$dir/err" || fail "$*: not one line with '$pattern': $(head -n 3 "$dir/err")"
    [ ! -s "$dir/out" ] || fail "$*: an error on standard output"
}

for p; do
    commands=$("$bin/$p" --help | sed -n '1{/COMMAND/!q};s/^  \([a-z]*\) .*/\1/p')
    "$bin/$p" --help >"$dir/help" || fail "$p --help"
    [ "$(head -c $((7 + ${#p})) "$dir/help")" = "usage: $p" ] || fail "$p --help begins otherwise"
    [ "$("$bin/$p" -h)" = "$(cat "$dir/help")" ] || fail "$p -h is not $p --help"
    [ "$(wc -L <"$dir/help")" -le 120 ] || fail "$p --help has lines of $(wc -L <"$dir/help")"
    man=$share/man/man1/$p.1
    groff -ww -man -Tascii -P-bcou -rLL=200n "$man" >"$dir/plain" 2>"$dir/err" && [ ! -s "$dir/err" ] || fail "$man: $(head -n 3 "$dir/err")"
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' ENVIRONMENT 'SEE ALSO'; do
        grep -qx "$section" "$dir/plain" || fail "$man has no section $section"
    done
    check_line 2 "^$p: .*--no-such-option.*; see $p --help$" "$p" --no-such-option
    all=$(options "$p")
    for c in $commands; do
        grep -q "^   $c$" "$dir/plain" || fail "$man does not have the command $c"
        "$bin/$p" "$c" --help >"$dir/help" 2>&1 && grep -q "^usage: $p $c" "$dir/help" || continue       # a program of its own
        all+=" $(options "$p" "$c")"
        "$bin/$p" "$c" --no-such-option >/dev/null 2>"$dir/err"
        grep -q "^$p $c: .*; see $p $c --help$" "$dir/err" || fail "$p $c --no-such-option: $(head -n 2 "$dir/err")"
    done
    n=0
    for o in $all; do
        n=$((n + 1))
        grep -qE -- "--$o( |,|=|\[|$)" "$dir/plain" || fail "$man does not have --$o"
        [ "$o" = help ] || [ "$o" = version ] || {
            grep -q -- "--$o\b" "$share/bash-completion/completions/$p" || fail "bash does not complete --$o of $p"
            grep -q -- "--$o\[" "$share/zsh/site-functions/_$p" || fail "zsh does not complete --$o of $p"
            grep -q -- "-l $o\b" "$share/fish/vendor_completions.d/$p.fish" || fail "fish does not complete --$o of $p"
        }
    done
    [ $n -ge 3 ] || fail "$p has $n options"
    bash -n "$share/bash-completion/completions/$p" || fail "bash: $p"
    if command -v shellcheck >/dev/null; then shellcheck -s bash -S warning "$share/bash-completion/completions/$p" || fail "shellcheck: the completion of $p"; fi
    if command -v zsh >/dev/null; then zsh -n "$share/zsh/site-functions/_$p" || fail "zsh: $p"; fi
    if command -v fish >/dev/null; then fish -n "$share/fish/vendor_completions.d/$p.fish" || fail "fish: $p"; fi
done
check_line 2 '^cudaway: there is no command frobnicate; see cudaway --help$' cudaway frobnicate
check_line 125 '^cudaway run: no program given; see cudaway run --help$' cudaway run
check_line 2 '^cudaway-cc: --target needs a value; see cudaway-cc --help$' cudaway-cc --target
check_line 2 "^cudaway-cc: .*'gfx'" cudaway-cc --target gfx x.ptx -o y

# What a user would get: WORDS... with the last one incomplete; what is offered must be WANT.
bash_offers() {
    local want=$1; shift
    local got
    # shellcheck disable=SC1090
    got=$(cd "$dir" && . "$share/bash-completion/completions/$1" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) &&
          "_${1//-/_}_complete" && printf '%s ' "${COMPREPLY[@]}")
    [ "$got" = "$want " ] || fail "bash, $*: offers '$got', not '$want'"
}
fish_offers() {
    local want=$1; shift
    command -v fish >/dev/null || return 0
    local got
    got=$(cd "$dir" && HOME=$dir PATH=$bin:$PATH fish -c "set -g fish_complete_path $share/fish/vendor_completions.d; complete -C '$*'" 2>&1 | cut -f 1 | sort | tr '\n' ' ')
    [ "$got" = "$want " ] || fail "fish, $*: offers '$got', not '$want'"
}
touch "$dir/some.ptx"
for shell in bash fish; do
    ${shell}_offers "--target" cudaway-cc --targ
    ${shell}_offers "nvptx:sm_90" cudaway-cc --target nv
    ${shell}_offers "some.ptx" cudaway-cc so
    ${shell}_offers "signatures" cudaway sig
    ${shell}_offers "--no-redirect" cudaway run --no-
    ${shell}_offers "gfxemu:gfx1100 gfxemu:gfx90a" cudaway run --device gf
    ${shell}_offers "--dump-limit" cudaway-trace record --dump-l
done
bash_offers "--emit" cudaway cc --emi
fish_offers "-MD" cudaway-cc -M
grep -q "'-M\[also write OUTPUT.d.*:D:(D)'" "$share/zsh/site-functions/_cudaway-cc" || fail "zsh completes -MD otherwise"
exit $bad
