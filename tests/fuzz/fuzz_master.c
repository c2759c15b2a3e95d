/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fuzz_master.c -- a whole master, with its real store, led through a story by the input.
 *
 *      input:  step, its numbers, step, its numbers, ...
 *
 *      step    a request of some client, well formed or nearly  -->  master_receive()
 *              time passes, a peer hangs up, the master is started anew
 *              -->  master_turn(), store_step(), master_check()
 *
 * Numbers that the master gives out (object ids, leases, fences) are taken from its
 * answers and chosen again by later steps, so that stories get somewhere.
 *
 * Laws: master_check() after every step; every answer decodes; what the books hold is
 * accepted by the next start; nothing leaks; memory stays within MEMORY_MAX.
 *
 * The store lies in a folder of its own in /dev/shm; each input begins with a copy of
 * the same empty books.
 */
#include <sanitizer/allocator_interface.h>
#include <sys/stat.h>

#include "tests/fuzz/master_story.h"
#include "transfer/base/log.h"

#define N_SEGMENTS 6
#define STEPS_MAX  400
#define STARTS_MAX 3
#define MEMORY_MAX (96u << 20)

const char *__asan_default_options(void);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static char dir[64];
static uint8_t *empty_books;
static size_t empty_len;

/* ---- sessions ---- */

static void
join(struct story *s, struct end *end, uint64_t client_id)
{
	end->client_id = client_id;
	SEND(s, end, hello, .version = PROTO_VERSION);
	SEND(s, end, join, .client_id = end->client_id, .name = span_of("end", 3),
	     .host = span_of("here", 4), .tenant = span_of("default", 7),
	     .now_ms = clock_ms(&s->clock.base));
}

/* Mostly joined at once, each as a client of its own. */
static struct end *
connected(struct story *s)
{
	size_t i = next_below(s, N_ENDS);
	struct end *end = &s->ends[i];

	if (end->peer != NULL)
		return end;
	if (master_peer_new(s->master, true, &end->peer) != 0)
		abort();
	if (next_u8(s) < 0xe0)
		join(s, end, i + 1);
	return end;
}

static void
mount(struct story *s, struct end *end)
{
	static const uint64_t sizes[] = {MIB, 2 * MIB, 5 * MIB, 9 * MIB, 12 * MIB + 4096, 4096};
	uint8_t writers = next_u8(s), which = next_u8(s);
	struct rec_id ids[3] = {{1 + writers % 5}, {1 + writers / 5 % 5}, {1 + writers / 25 % 5}};
	char name[16], host[16];
	struct rec_segment_lent lent = {
		.segment_id = 1 + which % N_SEGMENTS,
		.segment_epoch = 1 + which / N_SEGMENTS % 3,
		.size_bytes = sizes[next_below(s, array_len(sizes))],
		.medium = 1,
		.endpoint = span_of("shm:x", 5),
		.n_writers = writers > 200 ? 0 : writers % 4,
		.writers = ids,
	};
	int name_len = snprintf(name, sizeof(name), "seg%u", which / 100 * 2 + which % 2);
	int host_len = snprintf(host, sizeof(host), "host%u", which % 2);

	lent.name = span_of(name, (size_t)name_len);
	lent.host = span_of(host, (size_t)host_len);
	SEND(s, end, mount_segment, .n_segments = 1, .segments = &lent);
}

static void
start_puts(struct story *s, struct end *end)
{
	struct rec_put puts[3];
	struct rec_id preferred = {next_below(s, N_SEGMENTS + 1)};
	uint8_t how = next_u8(s);
	uint32_t n = 1 + how % array_len(puts);

	for (uint32_t i = 0; i < n; i++)
		puts[i] = (struct rec_put){next_key(s), next_length(s)};
	SEND(s, end, put_start, .replica_num = (uint8_t)(how >= 0xf8 ? how : 1 + how / 3 % 3),
	     .flags = how / 9 % 4, .n_preferred = how % 2, .preferred = &preferred, .n_puts = n,
	     .puts = puts);
}

static void
end_put(struct story *s, struct end *end, size_t at)
{
	uint8_t how = next_u8(s);
	uint64_t len = next_length(s), room = s->puts.also[at];
	struct rec_put_done done[2] = {{
		.object_id = s->puts.ids[at],
		.len_bytes = room,
		.has_crc = how % 2,
		.crc = how,
		.attr = span_of("attr", how % 5),
	}};

	if (how % 8 == 0)
		done[0].len_bytes = len;
	if (how % 8 == 1)
		done[0].len_bytes = len % (room / 2 + 1);
	done[1] = done[0];
	if (how / 64 % 2 == 1)
		done[1].object_id = s->puts.ids[next_past(s, &s->puts)];
	SEND(s, end, put_end, .n_puts = 1 + how / 128, .puts = done);
}

/* What is under way goes on, or what is over: mostly by its own client. */
static void
put_step(struct story *s, struct end *end)
{
	size_t at = next_past(s, &s->puts);
	struct rec_id id = {s->puts.ids[at]};

	if (next_u8(s) < 0xe0 && s->ends[s->puts.owner[at]].peer != NULL)
		end = &s->ends[s->puts.owner[at]];
	switch (next_below(s, 4)) {
	case 0:
		SEND(s, end, put_extend, .object_id = id.id, .more_bytes = next_length(s));
		break;
	case 1:
		SEND(s, end, put_revoke, .is_quiet = next_u8(s) % 2, .n_puts = 1, .puts = &id);
		break;
	default:
		end_put(s, end, at);
	}
}

static void
read_step(struct story *s, struct end *end)
{
	struct rec_key_only keys[2] = {{next_key(s)}, {next_key(s)}};
	size_t at = next_past(s, &s->leases);
	struct rec_lease lease = {s->leases.ids[at], (uint32_t)s->leases.also[at]};
	uint32_t lease_ms = next_u8(s) * 40u;
	uint8_t how;

	switch (next_below(s, 7)) {
	case 6:
		how = next_u8(s);
		if (how % 4 == 0)
			SEND(s, end, unpin, .n_keys = 2, .keys = keys);
		else
			SEND(s, end, pin, .pin = how % 4, .pin_ttl_ms = how % 2 ? how : 0,
			     .n_keys = 2, .keys = keys);
		break;
	case 0:
		SEND(s, end, exist, .n_keys = 2, .keys = keys);
		break;
	case 1:
		SEND(s, end, stat, .n_keys = 2, .keys = keys);
		break;
	case 2:
		SEND(s, end, renew_lease, .lease_ms = lease_ms, .n_leases = 1, .leases = &lease);
		break;
	case 3:
		SEND(s, end, release_lease, .n_leases = 1, .leases = &lease);
		break;
	default:
		SEND(s, end, get_replica_list, .lease_ms = lease_ms, .n_keys = 2, .keys = keys);
	}
}

static void
key_step(struct story *s, struct end *end)
{
	struct rec_key_only keys[2] = {{next_key(s)}, {next_key(s)}};
	struct rec_rename_pair pairs[2] = {{keys[0].key, keys[1].key}, {next_key(s), next_key(s)}};
	struct rec_attr_set set = {.key = keys[0].key, .attr = span_of("other", 5)};
	uint8_t how = next_u8(s);

	switch (next_below(s, 6)) {
	case 0:
	case 1:
		SEND(s, end, remove, .force = how % 2, .n_keys = 1 + how / 2 % 2, .keys = keys);
		break;
	case 2:
		SEND(s, end, rename, .flags = how % 2, .n_pairs = 1 + how / 2 % 2, .pairs = pairs);
		break;
	case 3:
		set.object_id = how % 3 == 0 ? s->puts.ids[next_past(s, &s->puts)] : 0;
		SEND(s, end, set_attr, .n_sets = 1, .sets = &set);
		break;
	case 4:
		SEND(s, end, list, .prefix = how % 3 == 0 ? span_of("a", 1) : span_of("", 0),
		     .after = how % 5 == 0 ? keys[1].key : span_of("", 0),
		     .delimiter = how % 2 == 0 ? '/' : 0, .most = how);
		break;
	default:
		SEND(s, end, watch, .prefix = how % 2 == 0 ? span_of("a", 1) : span_of("", 0));
	}
}

static void
provider_step(struct story *s, struct end *end)
{
	struct rec_id id = {1 + next_below(s, N_SEGMENTS)};
	struct rec_id fenced[2] = {{s->fences.ids[next_past(s, &s->fences)]},
				   {s->fences.ids[next_past(s, &s->fences)]}};

	switch (next_below(s, 8)) {
	case 0:
	case 1:
	case 2:
		mount(s, end);
		break;
	case 3:
		SEND(s, end, unmount_segment, .n_segments = 1, .segments = &id);
		break;
	case 4:
		SEND(s, end, query_segment, .n_segments = next_u8(s) % 2, .segments = &id);
		break;
	default:
		SEND(s, end, ping, .now_ms = clock_ms(&s->clock.base),
		     .quiet_epoch = next_u8(s) % 4, .n_fenced = next_u8(s) % 3, .fenced = fenced);
	}
}

/* Any message, filled at random or with the input's own bytes. */
static void
wild_step(struct story *s, struct end *end)
{
	const struct form *form = &forms[next_below(s, array_len(forms))];
	struct filler filler = filler_of_seed(&s->arena, next_u8(s));
	size_t len = next_u8(s);
	union form_any any = {0};
	struct buf payload;

	len = num_min(len, (size_t)(s->end - s->at));
	buf_init(&payload);
	if (len % 2 == 0) {
		form->fill(&filler, &any);
		if (form->encode(&payload, &any) != 0)
			abort();
	} else if (buf_append(&payload, s->at, len) != 0) {
		abort();
	}
	send_bytes(s, end, form->is_reply ? next_u8(s) : form->number, &payload);
	buf_fini(&payload);
}

static void
session_step(struct story *s, struct end *end)
{
	switch (next_below(s, 8)) {
	case 0:
		SEND(s, end, leave, );
		break;
	case 1:
		master_peer_free(end->peer);
		end->peer = NULL;
		break;
	case 2:
		SEND(s, end, space, );
		SEND(s, end, stats, );
		break;
	case 3:
		SEND(s, end, query_client, .after_id = next_u8(s) % 3);
		SEND(s, end, query_put, .after_id = next_u8(s) % 3);
		break;
	default:
		join(s, end, 1 + next_below(s, N_ENDS + 1));
	}
}

/* ---- time ---- */

static void
pass(struct story *s)
{
	uint64_t len_ms = next_u8(s) * 20ull;

	while (len_ms > 0) {
		uint64_t step_ms = num_min(len_ms, (uint64_t)400);

		clock_fake_advance_ms(&s->clock, step_ms);
		len_ms -= step_ms;
		turn(s);
		store_step(s->store);
	}
}

static void
time_step(struct story *s)
{
	uint8_t how = next_u8(s);

	if (how < 0x20 && s->n_starts < STARTS_MAX) {
		s->n_starts++;
		stop_master(s);
		start_master(s);
	} else if (how < 0x30) {
		clock_fake_advance_ms(&s->clock, 100000); /* the master itself was stopped */
	} else {
		pass(s);
	}
}

static void
step(struct story *s)
{
	uint8_t what = next_u8(s);
	struct end *end;

	arena_reset(&s->arena);
	if (what % 16 == 0) {
		time_step(s);
		turn(s);
		return;
	}
	end = connected(s);
	if (what % 16 <= 2)
		start_puts(s, end);
	else if (what % 16 <= 5)
		put_step(s, end);
	else if (what % 16 <= 8)
		read_step(s, end);
	else if (what % 16 <= 10)
		key_step(s, end);
	else if (what % 16 <= 12)
		provider_step(s, end);
	else if (what % 16 <= 14)
		session_step(s, end);
	else
		wild_step(s, end);
	if ((what & 0x10) == 0)
		turn(s);
	if ((what & 0x20) == 0)
		store_step(s->store);
}

/* ---- the target ---- */

static void
clean_up(void)
{
	static const char *const suffixes[] = {".lock", ".reserve"};
	char name[128];

	forget_files();
	for (size_t i = 0; i < array_len(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		(void)unlink(name);
	}
	(void)rmdir(dir);
}

static void
begin(struct story *s)
{
	*s = (struct story){0};
	clock_fake_init(&s->clock, 1000000);
	s->clock.wall_at = 1790000000000;
	rand_init(&s->rand, 1);
	arena_init(&s->arena);
}

/* Each story allocates and frees a whole master: less is filled and kept, for speed. */
const char *
__asan_default_options(void)
{
	return "quarantine_size_mb=8:max_malloc_fill_size=0:max_free_fill_size=0";
}

/* The books as they are after the first start, once. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct story s;
	struct stat st;
	int fd;

	(void)argc;
	(void)argv;
	log_set_sink(NULL, NULL, LOG_ERROR);
	snprintf(dir, sizeof(dir), "%s/fuzz-master-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(dir) == NULL)
		abort();
	snprintf(path, sizeof(path), "%s/books.db", dir);
	atexit(clean_up);
	begin(&s);
	start_master(&s);
	stop_master(&s);
	arena_fini(&s.arena);

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		abort();
	empty_len = (size_t)st.st_size;
	empty_books = malloc(empty_len);
	if (empty_books == NULL || read(fd, empty_books, empty_len) != st.st_size)
		abort();
	close(fd);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	size_t before = __sanitizer_get_current_allocated_bytes();
	struct story s;
	int fd;

	forget_files();
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, empty_books, empty_len) != (ssize_t)empty_len)
		abort();
	close(fd);

	begin(&s);
	s.at = bytes;
	s.end = bytes + n_bytes;
	start_master(&s);
	for (size_t i = 0; i < STEPS_MAX && s.at < s.end; i++) {
		step(&s);
		assert(__sanitizer_get_current_allocated_bytes() < before + MEMORY_MAX);
	}
	stop_master(&s);
	if (n_bytes % 4 == 0) { /* what was written is read again */
		start_master(&s);
		stop_master(&s);
	}
	arena_fini(&s.arena);
	return 0;
}
