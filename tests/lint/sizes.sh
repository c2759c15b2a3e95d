#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# sizes.sh -- a file has at most 600 lines, a function 60, and five parameters; sizes.allow says why some have more.
#
# A pointer and its length (size_t n_slices, key_len, why_cap) count as one parameter.
. "${0%/*}/files.inc"

large=$(files '*.c' '*.h' | xargs awk -v file_max=600 -v lines_max=60 -v parameters_max=5 '
	function end_of_file() {
		if (last != "" && n > file_max)
			print last, n, "lines"
	}
	FNR == 1 { end_of_file(); last = FILENAME; head = ""; open = 0 }
	{ n = FNR }
	# A definition: its name at the start of a line, then a brace at the start of a line.
	/^[a-z_][a-z0-9_]*\(/ { name = $0; sub(/\(.*/, "", name); head = $0; next }
	head != "" && /^\{/ {
		sub(/^[a-z_0-9]*\(/, "", head)
		while (gsub(/\([^()]*\)/, "", head) > 0)
			continue
		head = head ","
		n_parameters = split(head, parts, ",") - 1
		n_parameters -= gsub(/size_t (n_[a-z_]+|[a-z_]+_(len|cap)|cap)[ \t]*[,)]/, "", head)
		if (n_parameters > parameters_max)
			print FILENAME ":" name, n_parameters, "parameters"
		head = ""
		open = FNR
		next
	}
	head != "" && /^[ \t]/ { head = head $0; next }
	head != "" { head = "" }
	open > 0 && /^\}/ {
		if (FNR - open - 1 > lines_max)
			print FILENAME ":" name, FNR - open - 1, "lines"
		open = 0
	}
	END { end_of_file() }')

# "PATH[:FUNCTION] MOST REASON" a line; a reason is two words at least, and a line that is not needed goes.
allow=tests/lint/sizes.allow
found "$(echo "$large" | awk -v allow=$allow '
	BEGIN {
		while ((getline line < allow) > 0) {
			n = split(line, word, " ")
			if (line ~ /^#/ || n == 0)
				continue
			if (n < 4)
				print allow ": " word[1] ": no reason"
			most[word[1]] = word[2]
		}
	}
	NF == 3 && (!($1 in most) || $2 > most[$1]) { print $1 ": " $2 " " $3 }
	NF == 3 { used[$1] = 1 }
	END { for (what in most) if (!(what in used)) print allow ": " what ": not needed any more" }')"
finish
