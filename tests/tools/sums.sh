#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sums.sh SOURCE: tools/sums writes sums that sha256sum takes and a signature that gpg takes, and a changed file or signature is noticed; tools/sbom's bill of materials is JSON
# that names every file with its sum and every package with dpkg's version, and is the same twice.
set -u
src=$1 bad=0
dir=$(mktemp -d) || exit 2
trap 'gpgconf --kill all 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 2
fail() { echo "FAIL: $*"; bad=1; }
unset SIGN_KEY

mkdir out
echo one >out/a.deb
echo two >'out/b c.deb'
"$src/tools/sums" out/a.deb 'out/b c.deb' || fail "tools/sums"
(cd out && sha256sum --quiet -c SHA256SUMS) || fail "the sums"
[ "$(wc -l <out/SHA256SUMS)" = 2 ] && [ ! -e out/SHA256SUMS.asc ] || fail "two sums and no signature"
grep -q '^2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806  a.deb$' out/SHA256SUMS || fail "the sum of \"one\\n\""     # coreutils, python3 -c hashlib
echo 2 >>out/a.deb
(cd out && sha256sum --status -c SHA256SUMS) && fail "a changed file passes"
mkdir other && touch other/x
"$src/tools/sums" out/a.deb other/x 2>/dev/null && fail "files of two folders"
if command -v gpg >/dev/null; then
    export GNUPGHOME=$dir/gpg
    mkdir -m 700 gpg
    gpg --batch --quiet --passphrase '' --quick-gen-key 'Test <test@example.org>' ed25519 default never 2>log || fail "gpg: $(cat log)"
    "$src/tools/sums" --sign test@example.org out/a.deb 2>log || fail "signing: $(cat log)"
    gpg --quiet --verify out/SHA256SUMS.asc out/SHA256SUMS 2>log || fail "the signature: $(cat log)"
    echo >>out/SHA256SUMS
    gpg --verify out/SHA256SUMS.asc out/SHA256SUMS 2>log && fail "changed sums pass"
    SIGN_KEY=nobody@example.org "$src/tools/sums" out/a.deb 2>log && fail "signed with a key that is not there"
    grep -q 'does not sign with nobody' log || fail "no key: $(cat log)"
else
    echo "not shown: signing, since gpg is missing"
fi

mkdir -p root/bin
echo one >root/bin/a
echo two >'root/b "c"'
package=$(dpkg-query -W -f '${Package} ${Version}\n' libc6 2>/dev/null) || { echo "not shown: the bill of materials, since dpkg is missing"; exit $bad; }
printf 'libc6 contained\nlibc6-dev static\n' >packages
export SOURCE_DATE_EPOCH=1700000000
"$src/tools/sbom" name 1.2 root packages >bill || fail "tools/sbom"
"$src/tools/sbom" name 1.2 root packages | cmp -s - bill || fail "it is another one the second time"
python3 - "${package#* }" <<'P' || fail "the bill of materials"
import json, hashlib, sys
b = json.load(open("bill"))
assert b["spdxVersion"] == "SPDX-2.3" and b["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
sums = {f["fileName"]: {c["algorithm"]: c["checksumValue"] for c in f["checksums"]} for f in b["files"]}
texts = {"./bin/a": b"one\n", './b "c"': b"two\n"}
assert sums == {n: {"SHA1": hashlib.sha1(t).hexdigest(), "SHA256": hashlib.sha256(t).hexdigest()} for n, t in texts.items()}, sums
code = hashlib.sha1("".join(sorted(hashlib.sha1(t).hexdigest() for t in texts.values())).encode()).hexdigest()
assert b["packages"][0]["packageVerificationCode"]["packageVerificationCodeValue"] == code
versions = {p["name"]: p["versionInfo"] for p in b["packages"]}
assert versions["libc6"] == sys.argv[1] and versions["name"] == "1.2" and "libc6-dev" in versions, versions
ids = [x["SPDXID"] for x in b["packages"] + b["files"]] + [b["SPDXID"]]
assert len(set(ids)) == len(ids)
relations = [(r["spdxElementId"], r["relationshipType"], r["relatedSpdxElement"]) for r in b["relationships"]]
assert all(x in ids and y in ids for x, _, y in relations) and len(relations) == 1 + 2 + 2
assert [r for r in relations if r[1] == "STATIC_LINK"] == [("SPDXRef-Package", "STATIC_LINK", "SPDXRef-Package-libc6-dev")]
P
echo 'no-such-package-here static' >packages
"$src/tools/sbom" name 1.2 root packages >bill 2>log && fail "a package that is not installed"
grep -q 'no-such-package-here is not installed' log || fail "$(cat log)"
exit $bad
