#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# page_many.sh: the HTML report of 100,000 launches in Chromium without a screen. All of them are in the table and on the timeline, and it can be used: opened within 10 s, sorted and
# a kernel shown within 1 s, each step of the wheel and each movement of the pointer answered within 100 ms (the median; page_many.js). Exit status 77:
# there is no Chromium.
set -u
dir=$(mktemp -d /tmp/trace-many-XXXXXX)
trap 'rm -rf "$dir"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
cd "$dir" || exit 1
command -v chromium >/dev/null || { echo "skipped: no chromium"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }

CUDAWAY_DEVICE=host "$TRACE" record -q -o r -- "$TIMELINE" many 100000 || fail "record"
"$TRACE" report --html -o page.html r || fail "report --html"
{
    # The clock must be the real one, so no virtual time: what the script does ends before the page counts as loaded.
    sed 's|<head>|<head><script>window.failures=[];addEventListener("error",e=>failures.push("error: "+e.message));console.error=(...a)=>failures.push("console: "+a)</script>|' page.html
    echo "<script>"
    cat "$here/page_many.js"
    echo "</script>"
} >checked.html
timeout 300 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$dir/profile" --window-size=1280,900 --timeout=280000 \
    --dump-dom "file://$dir/checked.html" >dom 2>err || fail "chromium: $(tail -3 err)"
said=$(grep -o 'data-said="[^"]*"' dom | head -n 1)
echo "a page of $(wc -c <page.html) bytes: $said"
case $said in 'data-said="good'*) ;; *) fail "the page of 100,000 launches" ;; esac
