#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every function of the driver API that is refused says why, in the model (impl/api/status.json), from which the page is made.
# reasons.sh COVERAGE-PAGE
if grep -n '| unsupported |' "$1" | grep '`cu'; then
    echo "these are refused without a reason in impl/api/status.json"
    exit 1
fi
