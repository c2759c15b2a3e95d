#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fault_loops -- the n-th allocation, system call or SQLite call of each program fails; some n of each.
#
# `tests/fault/run.sh --full` walks all of them.
exec sh "$(dirname "$0")/../fault/run.sh" "$@"
