#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program under Valgrind, which must find nothing: valgrind.sh PROGRAM
set -euo pipefail
command -v valgrind >/dev/null || { echo "skipped: no valgrind (Debian package valgrind)"; exit 77; }
valgrind -q --error-exitcode=9 --suppressions="$(dirname "$0")/../valgrind.supp" "$1"
