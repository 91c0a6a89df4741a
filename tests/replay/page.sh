#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# page.sh: the page of cudaway-replay --html over dumps with planted differences, opened in Chromium without a screen in frames of 1280 and 400 pixels
# (page_check.js). The environment names APP, REPLAY, TOOL, TRACE_DIR, PTX (scale.ptx). Exit status 77: there is no Chromium.
set -u
dir=$(mktemp -d /tmp/replay-page-XXXXXX)
trap 'rm -rf "$dir"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
export XDG_CACHE_HOME=$dir/cache CUDAWAY_DEVICE=host
cd "$dir" || exit 1
command -v chromium >/dev/null || { echo "skipped: no chromium"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }

sed -E 's|^ .*// other: (.*)$|    \1|' "$PTX" >other.ptx
CUDAWAY_DUMP_DIR=dumps LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$PTX" plus hole >out 2>&1 || fail "the program gave $?: $(cat out)"
CUDAWAY_DUMP_DIR=other LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels other.ptx plus hole >out 2>&1 || fail "the program gave $?: $(cat out)"
CUDAWAY_DUMP_DIR=texture LD_LIBRARY_PATH=$TRACE_DIR "$APP" texture >out 2>&1 || fail "the program gave $?: $(cat out)"
mkdir planted
"$TOOL" results other/*plus.cwdump dumps/*plus.cwdump planted/1.cwdump && "$TOOL" results dumps/*hole.cwdump other/*hole.cwdump planted/2.cwdump || fail "results"
"$TOOL" plant texture/*sample.cwdump one.cwdump "parameter out" 13 && "$TOOL" plant one.cwdump planted/3.cwdump "parameter out" 29 || fail "plant"
"$REPLAY" --check --html page.html planted >out 2>&1
[ $? = 1 ] || fail "the replay gave $?: $(cat out)"
"$REPLAY" --check --html /nonexistent/page.html planted >out 2>&1
[ $? = 2 ] && grep -q "cannot write /nonexistent/page.html" out || fail "a page that cannot be written"
grep -q 'src=\|@import\|url(' <(sed 's/<script>.*//' page.html | head -20) && fail "the page refers to other files"
# A picture that a kernel made up, in front of the others.
sed -i 's|^,"pictures":\[$|&{"of":99,"picture":{"grid":1}},|' page.html
[ "$(grep -c '^,"pictures":\[{"of":99' page.html)" = 1 ] || fail "no place for another picture"
{
    # Errors of any kind are counted from the first script on.
    sed 's|<head>|<head><script>window.failures=[];addEventListener("error",e=>failures.push("error: "+e.message));console.error=(...a)=>failures.push("console: "+a)</script>|' page.html
    echo "<script>"
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
