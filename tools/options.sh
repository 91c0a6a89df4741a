# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scripts of this folder have in common, sourced by each before it changes the folder: --help prints the comment at their top, --version
# the version, and a wrong command line is one line on standard error and status 2.
script_name=tools/${0##*/}
script_folder=$(cd "$(dirname "$0")" && pwd)

# script_wrong TEXT: what is wrong with the command line.
script_wrong() {
    echo "$script_name: $1 (see --help)" >&2
    exit 2
}

# script_option ARGUMENT: one that the script does not know itself.
script_option() {
    case $1 in
        -h | --help) awk 'NR > 2 { if (!/^#/) exit; if (!/^# shellcheck/) { sub(/^# ?/, ""); print } }' "$script_folder/${0##*/}"; exit 0 ;;
        --version) echo "$script_name $(sed -n 's/^project(cudaway VERSION \([0-9.]*\).*/\1/p' "$script_folder/../CMakeLists.txt")"; exit 0 ;;
        -*) script_wrong "unknown option $1" ;;
        *) script_wrong "unexpected argument '$1'" ;;
    esac
}
