#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# layers.sh SOURCE: who may include whom. A file includes files of its own folder's row of the table or of rows above it, never of
# one below; and some rooms know nothing of each other.
set -u
cd "$1" || exit 2

# From the ground up. A file belongs to the row with the longest match of its path; what stands on one line is one room.
rows='
impl/base
impl/api cudaway
jit/abi
jit/ptx
jit/jit.h
jit/link
jit/analysis
jit/builtins devlib_parts.h
jit/emit
jit/emit/target
jit/passes
jit/llvm
jit/objfile
jit/driver
jit/loader
jit/api.c jit/builtins/precompile
impl
impl/libs
tracer
replay
diff
tools
tests
'
# FROM TO: no file of FROM includes one of TO, whatever the table says.
apart='
jit/emit jit/emit/target
jit/emit/target/host jit/emit/target/amdgcn
jit/emit/target/host jit/emit/target/nvptx
jit/emit/target/amdgcn jit/emit/target/host
jit/emit/target/amdgcn jit/emit/target/nvptx
jit/emit/target/nvptx jit/emit/target/host
jit/emit/target/nvptx jit/emit/target/amdgcn
impl/hip impl/cuda
impl/hip impl/driver
impl/host impl/cuda
impl/host impl/driver
impl/host impl/hip
impl/cuda impl/driver
impl/cuda impl/hip
impl/cuda impl/host
impl/driver impl/hip
impl/driver impl/host
impl/driver impl/cuda
'
# FILE:#include "FILE" on standard input; what is wrong on standard output.
judge() {
    awk -v rows="$rows" -v apart="$apart" '
        BEGIN {
            n = split(rows, line, "\n")
            for (i = 1; i <= n; i++) {
                m = split(line[i], word, " ")
                for (k = 1; k <= m; k++)
                    row[word[k]] = i
            }
            n = split(apart, line, "\n")
            for (i = 1; i <= n; i++)
                if (split(line[i], word, " ") == 2)
                    never[word[1] " " word[2]] = 1
        }
        # The longest beginning of a path, cut at slashes, that the table names.
        function room(path,    p) {
            for (p = path; p != ""; p = p ~ /\// ? substr(p, 1, match(p, /\/[^\/]*$/) - 1) : "")
                if (p in row)
                    return p
            return ""
        }
        function inside(path, folder) { return index(path "/", folder "/") == 1 }
        {
            at = index($0, ":")
            file = substr($0, 1, at - 1)
            split(substr($0, at + 1), quoted, "\"")
            to = quoted[2]
            if (to !~ /\//)     # beside the file, or made by the build and named in the table
                if (!(to in row))
                    next
            from_room = room(file)
            to_room = room(to)
            if (from_room == "") {
                if (!(file in told)) print file ": its folder is in no row of the table"
                told[file] = bad = 1
                next
            }
            if (to_room == "") {
                # a header that the build makes beside its users, or a file named from its own folder
                print file " includes \"" to "\", which is in no row of the table"
                bad = 1
                next
            }
            if (row[to_room] > row[from_room]) {
                print file " (" from_room ") includes " to " (" to_room "), which stands above it"
                bad = 1
            }
            for (pair in never) {
                split(pair, p, " ")
                # jit/emit without its own folder of targets
                if (inside(file, p[1]) && inside(to, p[2]) && !(inside(p[2], p[1]) && inside(file, p[2]))) {
                    print file " includes " to ": " p[1] " knows nothing of " p[2]
                    bad = 1
                }
            }
        }
        END { exit bad }'
}

# The rules themselves: each of these is wrong, and one is right.
bad=0
for wrong in jit/ptx/lex.c,jit/emit/emit.h impl/base/log.c,jit/jit.h jit/emit/call.c,jit/emit/target/host/x.h jit/emit/arith/fp.c,jit/emit/target/amdgcn/matrix.h \
    jit/emit/target/host/host.c,jit/emit/target/amdgcn/matrix.h jit/builtins/tex.c,impl/texture.h impl/hip/device.c,impl/driver/driver.h jit/room/x.c,jit/jit.h \
    jit/passes/single_calls.c,jit/room/x.h impl/runtime/launch.c,impl/libs/nvjitlink/x.h; do
    echo "${wrong%,*}:#include \"${wrong#*,}\"" | judge > /dev/null && { echo "${wrong%,*} may include ${wrong#*,}, by these rules"; bad=1; }
done
echo 'jit/emit/target/host/host.c:#include "jit/emit/emit_private.h"' | judge || bad=1

includes=$(git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.def' '*.inc' | while read -r f; do [ -f "$f" ] && echo "$f"; done |
    xargs grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"')
[ "$(wc -l <<<"$includes")" -ge 500 ] || { echo "only $(wc -l <<<"$includes") includes were found"; bad=1; }
judge <<<"$includes" || bad=1

# One file of jit/emit chooses a target; the others ask it for capabilities and hooks.
named=$(git grep -nE 'CWJ_TARGET_|emit_target_(host|amdgcn|nvptx)\b' -- jit/emit ':!jit/emit/target' ':!jit/emit/session.c')
[ -z "$named" ] || { echo "which target it is, outside of jit/emit/target:"; echo "$named"; bad=1; }

# A program with rights that its user lacks believes no variable of the environment (docs/ld-preload.md): what is loaded into programs asks secure_getenv.
plain=$(git grep -nE '(^|[^_a-z])getenv\(' -- impl jit tracer/'*.c' ':!tracer/cli' ':!jit/environment.c')
[ -z "$plain" ] || { echo "getenv, not secure_getenv:"; echo "$plain"; bad=1; }
exit $bad
