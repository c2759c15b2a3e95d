/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Replies come and go with every request, so each thread keeps the memory of its last one:
 *
 *      link_reply_init() --takes--> spare of this thread --gives back-- link_reply_fini()
 *
 * A thread that ends gives its spare back to the allocator.
 */
#include "core/link.h"

#include <pthread.h>

#define SPARE_BYTES_MAX (64u << 10) /* a larger buffer is not kept */

struct spare {
	bool is_full;
	struct buf bytes;
	struct arena arena;
};

static _Thread_local struct spare spare;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;

static void
spare_fini(void *arg)
{
	struct spare *mine = arg;

	if (mine->is_full) {
		buf_fini(&mine->bytes);
		arena_fini(&mine->arena);
	}
	mine->is_full = false;
}

static void
key_make(void)
{
	int r = pthread_key_create(&at_thread_end, spare_fini);

	assert(r == 0);
}

void
link_reply_init(struct link_reply *reply)
{
	reply->status = STATUS_OK;
	reply->is_repeat = false;
	reply->cluster_id = 0;
	reply->payload = (struct cursor){0};
	reply->arena = &reply->arena_own;
	if (spare.is_full) {
		reply->bytes = spare.bytes;
		reply->arena_own = spare.arena;
		spare.is_full = false;
		return;
	}
	buf_init(&reply->bytes);
	arena_init(&reply->arena_own);
}

void
link_reply_fini(struct link_reply *reply)
{
	if (spare.is_full || reply->bytes.cap > SPARE_BYTES_MAX) {
		buf_fini(&reply->bytes);
		arena_fini(&reply->arena_own);
		return;
	}

	pthread_once(&once, key_make);
	if (pthread_setspecific(at_thread_end, &spare) != 0) {
		buf_fini(&reply->bytes);
		arena_fini(&reply->arena_own);
		return;
	}
	buf_clear(&reply->bytes);
	arena_reset(&reply->arena_own);
	spare = (struct spare){true, reply->bytes, reply->arena_own};
}
