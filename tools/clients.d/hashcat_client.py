# SPDX-License-Identifier: Apache-2.0
# pip: nvidia-cuda-nvrtc==13.0.88 bcrypt==5.0.0
# debian: hashcat hashcat-data libminizip1 libxxhash0
# time: long
"""hashcat, as Debian has it: kernels in its OpenCL dialect, which it compiles with NVRTC. Each case gives it the hash of a known word and asks
for the word; hashlib, bcrypt and published vectors make the hashes. hashcat tests each kind of hash against a vector of its own, too."""
import base64
import glob
import hashlib
import os
import shutil
import subprocess
import sys

import bcrypt

from cases import case, library, run

NVRTC = os.path.dirname(library("", "libnvrtc.so.13"))
ROOT = os.path.join(sys.prefix, "debian")
WORDS = ["secret", "letmein", "dragon", "monkey", "sesame", "hunter2"]

# A hashcat that is not installed looks for its files in its own folder, and writes there.
HOME = os.path.abspath("home")
if not os.path.exists(os.path.join(HOME, "hashcat")):
    shutil.copytree(os.path.join(ROOT, "usr/share/hashcat"), HOME, dirs_exist_ok=True)
    shutil.copy(os.path.join(ROOT, "usr/bin/hashcat"), HOME)
with open("words.txt", "w") as f:
    f.write("\n".join(WORDS) + "\n")
with open("rules.txt", "w") as f:
    f.write("c\nu $1\nr\n")             # capitals; all capitals and a 1; backwards


def cracks(mode, digest, word, *attack):
    libraries = glob.glob(os.path.join(ROOT, "usr/lib/*-linux-gnu"))
    environment = dict(os.environ, LD_LIBRARY_PATH=":".join([NVRTC, *libraries, os.environ.get("LD_LIBRARY_PATH", "")]), HOME=HOME)
    command = [os.path.join(HOME, "hashcat"), "-m", str(mode), "--potfile-disable", "--force", "--quiet", digest, *attack]
    result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(result.stdout)
    found = [text for text in result.stdout.splitlines() if text.startswith(digest)]
    assert result.returncode == 0, f"status {result.returncode}"
    assert found == [f"{digest}:{word}"], found


@case
def md5_mask():
    cracks(0, hashlib.md5(b"zyx").hexdigest(), "zyx", "-a", "3", "?l?l?l")


@case
def md5_optimized():
    cracks(0, hashlib.md5(b"qed7").hexdigest(), "qed7", "-O", "-a", "3", "?l?l?l?d")


@case
def sha1_combination():
    cracks(100, hashlib.sha1(b"dragonmonkey").hexdigest(), "dragonmonkey", "-a", "1", "words.txt", "words.txt")


@case
def sha256_rules():
    cracks(1400, hashlib.sha256(b"SESAME1").hexdigest(), "SESAME1", "-a", "0", "-r", "rules.txt", "words.txt")


@case
def ntlm_mask():                        # of "password", as public lists have it
    cracks(1000, "8846f7eaee8fb117ad06bdd830b7586c", "password", "-a", "3", "passwor?l")


@case
def pbkdf2():
    key = base64.b64encode(hashlib.pbkdf2_hmac("sha256", b"hunter2", b"saltsalt", 1000)).decode()
    cracks(10900, f"sha256:1000:{base64.b64encode(b'saltsalt').decode()}:{key}", "hunter2", "-a", "0", "words.txt")


@case
def bcrypt_words():
    digest = bcrypt.hashpw(b"letmein", bcrypt.gensalt(5, b"2a")).decode()
    cracks(3200, digest, "letmein", "-a", "0", "words.txt")


run()
