#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# test_names.sh -- a test is named by a sentence, subject__situation__what_happens; and no test sleeps.
#
# Programs of tests/fault and tests/script look at real ones, again and again; in unit, sim and fuzz time is a parameter.
# The situation may be left out where there is none: "lease__is_never_shortened".
. "${0%/*}/files.inc"

names=$(files 'test_*.c' | xargs awk '/^static void$/ { is_void = FNR } /^[a-z0-9A-Z_]+\(void \*\*[a-z_]+\)/ && is_void == FNR - 1 {
	sub(/\(.*/, ""); print FILENAME ": " $0 }')
word='[a-zA-Z0-9]+(_[a-zA-Z0-9]+)*'
found "$(echo "$names" | grep -vE ": $word(__$word)+\$" | sed 's|$|    <- not a sentence: subject__situation__what_happens|')"
found "$(echo "$names" | grep -vE ': [a-zA-Z0-9]+__?[a-zA-Z0-9]+__?[a-zA-Z0-9]' | sed 's|$|    <- too few words to say what happens|')"
found "$(files '*.c' '*.h' | grep -E '^tests/(unit|sim|fuzz)/' |
	look '(^|[^_a-z])(sleep|usleep|nanosleep|clock_nanosleep) *\(' 'a test that sleeps' | no_comments)"
finish "$(echo "$names" | wc -l) tests"
