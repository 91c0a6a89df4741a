#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program in another language, whose runtime has a collector, threads and signals of its own: language.sh LANGUAGE BUILD FOLDER
# Eight threads launch kernels with a host function in the language (work.c), cause faults that the runtime handles, and collect garbage. Then a kernel faults: CUDA gives
# error 700, and the runtime must still get its own faults.
set -euo pipefail
language=$1 build=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
needs() { command -v "$1" >/dev/null || { echo "skipped: no $1 (Debian package $2)"; exit 77; }; }
export LD_LIBRARY_PATH=$folder:$build/lib/cudaway
export LIBRARY_PATH=$LD_LIBRARY_PATH
mkdir -p "$folder"
cd "$folder"
alone() { env -u LD_LIBRARY_PATH "$@"; }        # a compiler, whose libraries are not to be ours
alone cc -O2 -Wall -Wextra -shared -fPIC "-I$here/../../../impl/api" "$here/work.c" -L"$build/lib/cudaway" -lcuda -pthread -o libwork.so
case $language in
    go)
        needs go golang-go
        export GOCACHE=$folder/cache GOFLAGS=-mod=mod GO111MODULE=off
        alone go build -o work "$here/work.go"
        ./work ;;
    java)
        needs javac openjdk-17-jdk-headless
        home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
        alone cc -O2 -Wall -Wextra -shared -fPIC "-I$home/include" "-I$home/include/linux" "$here/jni.c" -L. -lwork -o libjni.so
        alone javac -d . "$here/Work.java"
        java -cp . Work "$folder/libjni.so" ;;
    lisp)
        needs sbcl sbcl
        # Each fault that it handles has a warning of four lines.
        sbcl --noinform --no-sysinit --no-userinit --disable-debugger --load "$here/work.lisp" 2>err || { status=$?; grep -vE 'CORRUPTION|^Memory fault|integrity|fingers' err | tail -n 30 >&2; exit $status; } ;;
    csharp)
        needs mcs mono-mcs
        needs mono mono-runtime
        alone mcs -warnaserror -out:work.exe "$here/work.cs"
        mono work.exe ;;
    d)
        needs ldc2 ldc
        alone ldc2 -O1 -w "$here/work.d" -L-L. -L-lwork "-L-L$build/lib/cudaway" -L-lcuda -of=work
        ./work ;;
    haskell)
        needs ghc ghc
        alone ghc -v0 -O1 -threaded -rtsopts -Wall -outputdir . "$here/Work.hs" -L. -lwork -optl-L"$build/lib/cudaway" -optl-lcuda -o work
        ./work +RTS -N2 -V0.001 ;;
    python)
        needs python3 python3
        python3 "$here/work.py" ;;
    *) echo "language.sh: no program in $language" >&2; exit 2 ;;
esac
