#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b02 -- two writers of one key: a key that is there but empty, or a process that aborts.
#
# Right: without replacing one of eight writers wins a round and the others hear EXISTS;
# with it each value is one writer's; every read is one writer's whole value; in a batch the
# keys that are there stay as they are.
. "$(dirname "$0")/lib.sh"

up 256MiB
timeout 60 tool_rivals 40 >"$T/rivals" || die "rivals"
at_least "reads" 10 "$(value reads "$T/rivals")"
is "puts under way" 0 "$(told n_puts)"
kill -0 "$(pid_of master)" || die "the master is gone"
kill -0 "$(pid_of p1)" || die "the provider is gone"
check
down
