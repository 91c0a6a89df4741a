#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# page.sh: records timeline.c, makes the HTML report, and opens it in Chromium without a screen in frames of 1280 and 400 pixels: no error, tables
# that sort, a timeline that zooms, details, nothing wider than the window (page_check.js). Exit status 77: there is no Chromium.
set -u
dir=$(mktemp -d /tmp/trace-page-XXXXXX)
trap 'rm -rf "$dir"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
cd "$dir" || exit 1
command -v chromium >/dev/null || { echo "skipped: no chromium"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }

CUDAWAY_DEVICE=host "$TRACE" record -q -o r -- "$TIMELINE" 3 || fail "record"
"$TRACE" report --html -o page.html r || fail "report --html"
"$TRACE" report --html r | cmp - page.html || fail "standard output has another page"
grep -q 'src=\|@import\|url(' <(sed 's/<script>.*//' page.html | head -20) && fail "the page refers to other files"
{
    # Errors of any kind are counted from the first script on.
    sed 's|<head>|<head><script>window.failures=[];addEventListener("error",e=>failures.push("error: "+e.message));console.error=(...a)=>failures.push("console: "+a)</script>|' page.html
    echo "<script>const ROUNDS = 3;"
    cat "$here/page_check.js"
    echo "</script>"
} >checked.html
cat >frames.html <<'HTML'
<!doctype html><pre id="said"></pre>
<script>addEventListener('message', e => said.textContent += 'said ' + e.data + '\n');</script>
<iframe src="checked.html" width="1280" height="900"></iframe><iframe src="checked.html" width="400" height="900"></iframe>
HTML
timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$dir/profile" --virtual-time-budget=8000 --window-size=1900,1000 \
    --dump-dom "file://$dir/frames.html" >dom 2>err || fail "chromium: $(tail -3 err)"
grep -o 'said [0-9].*' dom | sed 's/<.*//' | sort >said
[ "$(cat said)" = "said 1280: good
said 400: good" ] || { cat said; fail "the page in Chromium"; }
