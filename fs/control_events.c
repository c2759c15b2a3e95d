/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/control_events.h"

#include <errno.h>
#include <string.h>

#include "fs/errno.h"
#include "transfer/base/buf.h"
#include "transfer/base/num.h"

#define TEXT_MAX_BYTES (4u << 20)

struct fs_events {
	struct fs *fs;
	struct lock lock; /* LOCK_fs_events: what follows; also while the master is asked */
	uint64_t cursor;
	struct buf text;
};

int
fs_events_new(struct fs *fs, struct fs_events **ret_events)
{
	struct fs_events *events = calloc(1, sizeof(*events));

	if (events == NULL)
		return -ENOMEM;
	events->fs = fs;
	lock_init(&events->lock, LOCK_fs_events);
	buf_init(&events->text);
	*ret_events = events;
	return 0;
}

void
fs_events_free(struct fs_events *events)
{
	if (events == NULL)
		return;
	buf_fini(&events->text);
	lock_fini(&events->lock);
	free(events);
}

/* show_time -- "2026-11-30T12:00:00.123Z". */
static const char *
show_time(char *buf, size_t cap, uint64_t at_ms)
{
	time_t at_s = (time_t)(at_ms / 1000);
	char second[32] = "?";
	struct tm tm;

	if (gmtime_r(&at_s, &tm) != NULL)
		strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, cap, "%s.%03uZ", second, (unsigned)(at_ms % 1000));
	return buf;
}

static int
tell_one(void *arg, const struct tiffin_event *event)
{
	struct fs_tell *tell = arg;
	char when[64];

	fs_tell_record(tell);
	fs_tell_text(tell, "at", show_time(when, sizeof(when), event->at_ms));
	fs_tell_text(tell, "kind", event->kind);
	fs_tell_id(tell, "event_id", event->event_id);
	fs_tell_u64(tell, "count", event->count);
	fs_tell_u64(tell, "bytes", event->bytes);
	fs_tell_id(tell, "subject_id", event->subject_id);
	fs_tell_key(tell, "words", event->words);
	fs_tell_record_end(tell);
	return 0;
}

int
fs_events_tell(struct fs *fs, struct fs_tell *tell)
{
	uint64_t cursor = 0;

	return fs_errno(tiffin_events(fs->client, &cursor, /* wait_ms= */ 0, tell_one, tell));
}

/* catch_up -- what happened since.  needs: the lock.  0 or -errno. */
static int
catch_up(struct fs_events *events)
{
	uint64_t cursor = events->cursor;
	char *fresh = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&fresh, &len);
	struct fs_tell tell;
	int r;

	if (to == NULL)
		return -ENOMEM;
	fs_tell_begin(&tell, to, /* is_json= */ false, /* is_list= */ true);
	r = fs_errno(tiffin_events(events->fs->client, &cursor, /* wait_ms= */ 0, tell_one, &tell));
	if (fclose(to) != 0)
		r = -ENOMEM;
	if (r == 0 && buf_len(&events->text) >= TEXT_MAX_BYTES)
		buf_clear(&events->text);
	if (r == 0)
		r = buf_append(&events->text, fresh, len);
	if (r == 0)
		events->cursor = cursor;
	free(fresh);
	return r;
}

uint64_t
fs_events_size(struct fs_events *events)
{
	uint64_t size;

	lock_take(&events->lock);
	(void)catch_up(events); /* a master that is away has no news */
	size = buf_len(&events->text);
	lock_drop(&events->lock);
	return size;
}

int
fs_events_read(struct fs_events *events, uint64_t offset_bytes, void *buf, size_t cap,
	       size_t *ret_n)
{
	size_t n = 0;
	int r = 0;

	lock_take(&events->lock);
	if (offset_bytes >= buf_len(&events->text))
		r = catch_up(events);
	if (r == 0 && offset_bytes < buf_len(&events->text)) {
		n = num_min(cap, buf_len(&events->text) - offset_bytes);
		memcpy(buf, buf_first(&events->text) + offset_bytes, n);
	}
	lock_drop(&events->lock);
	if (r == 0)
		*ret_n = n;
	return r;
}
