/* SPDX-License-Identifier: Apache-2.0 */

/*
 * stream.h -- an object's bytes, piece by piece, out of the store and into it.
 *
 *      store --view--> stream_out --piece--> sink:  a descriptor, another object, nothing
 *      descriptor ----> stream_in  --piece--> put ----> store
 *
 * A piece is at most STREAM_PIECE bytes; between two of them Ctrl-C is heeded and
 * progress is shown.  stream_out() sums what it hands out and compares the sum of a
 * whole object with the one that its writer gave.
 */
#ifndef CORE_CLI_STREAM_H
#define CORE_CLI_STREAM_H

#include "core/cli/cli.h"

#define STREAM_PIECE (4u << 20)

/* stream_sink -- one piece.  CLI_OK, or an exit status after saying why. */
struct stream_sink {
	int (*pour)(struct stream_sink *sink, const void *bytes, size_t n_bytes);
	const struct cli *cli;
};

struct stream_range {
	uint64_t offset_bytes;
	uint64_t len_bytes; /* UINT64_MAX: to the end */
};

#define STREAM_WHOLE ((struct stream_range){0, UINT64_MAX})

/* stream_view -- one version of one object, open for reading. */
struct stream_view {
	const char *key;
	struct tiffin_view *view;
	struct tiffin_stat stat;
};

/* stream_open -- CLI_OK, or it has been said.  Gives back with stream_close(). */
int stream_open(struct cli *cli, const char *key, struct stream_view *ret_view) MUST_CHECK;
void stream_close(struct stream_view *view);

/*
 * stream_out -- every piece of the range to the sink.
 *
 * result:  CLI_OK, CLI_CHECKSUM when the sum of the whole object is not the writer's, or another
 *          exit status; it has been said.
 */
int stream_out(struct cli *cli, struct stream_view *view, struct stream_range range,
	       struct stream_sink *sink, struct progress *progress) MUST_CHECK;

/* What an object to be put looks like. */
struct stream_put {
	const char *key;
	const char *name; /* of what is read, for what is said */
	const struct tiffin_put_options *options;
	uint64_t len_bytes; /* expected; 0 when not known */
};

/* stream_in -- everything a descriptor has, until its end, becomes one object. */
int stream_in(struct cli *cli, int fd, const struct stream_put *what,
	      struct progress *progress) MUST_CHECK;

/* A sink that writes to a descriptor. */
struct stream_fd_sink {
	struct stream_sink base;
	int fd;
	const char *name; /* for what is said */
};

void stream_fd_sink_init(struct stream_fd_sink *sink, const struct cli *cli, int fd,
			 const char *name);

#endif
