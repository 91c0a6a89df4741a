#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# package_lists.sh SOURCE BUILD: the Debian packages have all that `cmake --install` installs, each file in one package, and no line of debian/*.install names what is not there. (dh_missing
# asks the same at the end of tools/package, whose build takes long.)
set -u
src=$1 build=$2 bad=0
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; bad=1; }
DESTDIR=$dir/tmp cmake --install "$build" --prefix /usr >"$dir/log" 2>&1 || { tail -n 5 "$dir/log"; exit 1; }
cd "$dir/tmp" || exit 2
# As debian/rules has it.
mv usr/share/zsh/site-functions usr/share/zsh/vendor-completions || exit 1
for f in cmake pkgconfig; do
    if [ -d usr/lib/$f ]; then mkdir -p usr/lib/multiarch && mv usr/lib/$f usr/lib/multiarch/ || exit 1; fi
done

while read -r list pattern _; do
    # shellcheck disable=SC2086
    find $pattern -type f -o -type l 2>/dev/null | sed "s|\$| $list|" >"$dir/found"
    [ -s "$dir/found" ] || fail "$list: nothing is installed as $pattern"
    cat "$dir/found" >>"$dir/named"
done < <(cd "$src/debian" && grep -H '^[^#]' ./*.install not-installed | sed 's|^\./||; s|:| |')
find . -type f -o -type l | sed 's|^\./||' | sort >"$dir/all"
[ "$(wc -l <"$dir/all")" -ge 100 ] || fail "few files are installed"
awk '{ print $1 }' "$dir/named" | sort | uniq -d | while read -r f; do echo "$f is in $(grep -F "$f " "$dir/named" | awk '{ print $2 }' | paste -sd ' ')"; done >"$dir/twice"
[ ! -s "$dir/twice" ] || fail "in two packages: $(cat "$dir/twice")"
missing=$(awk '{ print $1 }' "$dir/named" | sort -u | comm -13 - "$dir/all" | paste -sd ' ')
[ -z "$missing" ] || fail "installed, and in no package (debian/*.install): $missing"
exit $bad
