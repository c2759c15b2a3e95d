#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# outside.sh -- the outer world is met in few places: each library, time, chance and locks in its own file.
. "${0%/*}/files.inc"

# only PATTERN FILES WHY -- what may stand only in those files (and in tests).
only() {
	found "$(files '*.c' '*.h' | grep -vE "^(tests/|($2)\$)" | look "$1" "$3" | no_comments)"
}

calls='(^|[^_a-zA-Z0-9>.])'
only '#[ ]*include[ ]*<sqlite3' 'master/store[a-z_]*\.[ch]' 'the store alone sees SQLite'
only '#[ ]*include[ ]*<fuse' 'fs/[a-z_]*\.[ch]' 'fs alone sees libfuse'
only '#[ ]*include[ ]*<sodium' 'transfer/base/(token|map)\.c' 'libsodium: base/token, base/map'
only '#[ ]*include[ ]*<liburing' 'transfer/disk_queue\.c' 'liburing: transfer/disk_queue'
only '#[ ]*include[ ]*<isa-l' 'transfer/base/crc\.c' 'ISA-L: base/crc'
only "${calls}getaddrinfo *\\(" 'transfer/base/sock_addr\.c' 'names are resolved in base/sock_addr'
only "${calls}(socket|socketpair|bind|listen|accept4?|connect) *\\(" 'transfer/base/sock[a-z_]*\.c' 'sockets are made in base/sock'
only "${calls}(getenv|secure_getenv|setenv) *\\(" 'core/cli/main\.c' 'only the command line reads the environment'
only "${calls}(v?fork|exec[lv][a-z]*|posix_spawnp?) *\\(" 'core/cli/[a-z_]*\.c|fs/(main|mountpoint)\.c' 'a library starts no process'
only "${calls}epoll_[a-z0-9]+ *\\(" 'transfer/base/loop\.c' 'epoll: base/loop'
# lock.c waits by the clock of pthread_cond_timedwait; the store measures its own work, and decides nothing by it.
only "${calls}(clock_gettime|gettimeofday|time) *\\((CLOCK_|NULL|&)" \
	'transfer/base/(clock|lock)\.c|master/store_thread\.c' 'the clock is injected: base/clock'
# token.c makes secrets, which no seed may foretell.
only "${calls}(getrandom|random|rand|srand|drand48) *\\(" 'transfer/base/(rand|token)\.c' 'chance is injected: base/rand'
only "${calls}pthread_mutex_(init|lock|unlock) *\\(" 'transfer/base/lock\.[ch]' 'locks have a rank: base/lock'
only "${calls}(sleep|usleep|nanosleep|clock_nanosleep) *\\(" 'transfer/base/clock\.c' 'nobody sleeps'

found "$(files '*.c' | grep -E '^(transfer|core|master/proto)/' |
	grep -vE '^core/cli/|main\.c$|^transfer/base/(log|options|program|json)\.c$' |
	look "${calls}(printf|fprintf|puts|putchar|perror|exit|_exit|signal|sigaction) *\\(" \
		'a library does not print, exit, or touch signals' | no_comments)"
finish
