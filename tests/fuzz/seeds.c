/* SPDX-License-Identifier: Apache-2.0 */

/*
 * seeds DIR -- write the first inputs of every fuzz target to DIR/TARGET/: for each
 * message its golden filling and a random one, for frames and headers one of each kind.
 */
#include "tests/fuzz/form.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "master/proto/status.h"
#include "transfer/base/frame.h"
#include "transfer/rdma_wire.h"
#include "transfer/wire.h"

#define PATH_CAP 1024u

/* save -- DIR/TARGET/NAME; a seed that can't be written ends the program. */
static void
save(const char *dir, const char *target, const char *name, const struct buf *bytes)
{
	char path[PATH_CAP];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, target);
	if (mkdir(path, 0777) < 0 && errno != EEXIST) {
		perror(path);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/%s/%s", dir, target, name);
	file = fopen(path, "w");
	if (file == NULL || fwrite(buf_first(bytes), 1, buf_len(bytes), file) != buf_len(bytes) ||
	    fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

static void
append(struct buf *to, const void *bytes, size_t n_bytes)
{
	int r = buf_append(to, bytes, n_bytes);

	assert(r == 0);
}

/* append_message -- the form's message, filled by the pattern (seed 0) or at random. */
static void
append_message(struct buf *to, const struct form *form, uint64_t seed)
{
	struct arena arena;
	struct filler filler = seed == 0 ? filler_of_pattern(&arena) : filler_of_seed(&arena, seed);
	union form_any any = {0};
	int r;

	arena_init(&arena);
	form->fill(&filler, &any);
	r = form->encode(to, &any);
	assert(r == 0);
	arena_fini(&arena);
}

static void
save_message(const char *dir, const struct form *form, uint64_t seed)
{
	const char *side = form->is_reply ? "reply" : "request";
	char target[64], name[64];
	struct buf bytes;

	buf_init(&bytes);
	append(&bytes, form->is_reply ? "\1" : "\0", 1);
	append_message(&bytes, form, seed);
	snprintf(target, sizeof(target), "fuzz_%s", form->name);
	snprintf(name, sizeof(name), "%s_%s", seed == 0 ? "pattern" : "random", side);
	save(dir, target, name, &bytes);
	buf_fini(&bytes);
}

/* save_frame -- a whole frame, and the short form that fuzz_frame makes one of. */
static void
save_frame(const char *dir, const char *name, const struct frame *header, const struct buf *payload)
{
	uint8_t brief[4] = {(uint8_t)header->type, (uint8_t)header->flags, (uint8_t)header->status,
			    (uint8_t)header->request_id};
	char brief_name[64];
	struct buf bytes;
	size_t at;
	int r;

	buf_init(&bytes);
	r = frame_begin(&bytes, &at);
	assert(r == 0);
	append(&bytes, buf_first(payload), buf_len(payload));
	frame_end(&bytes, at, header);
	save(dir, "fuzz_frame", name, &bytes);

	buf_clear(&bytes);
	append(&bytes, brief, sizeof(brief));
	append(&bytes, buf_first(payload), buf_len(payload));
	snprintf(brief_name, sizeof(brief_name), "%s_brief", name);
	save(dir, "fuzz_frame", brief_name, &bytes);
	buf_fini(&bytes);
}

static void
save_frames(const char *dir)
{
	struct buf payload;
	int r;

	buf_init(&payload);
	append_message(&payload, form_find(MSG_put_start, false), 0);
	save_frame(dir, "request", &(struct frame){.type = MSG_put_start, .request_id = 1},
		   &payload);

	buf_clear(&payload);
	append_message(&payload, form_find(MSG_watch, true), 0);
	save_frame(dir, "reply_more",
		   &(struct frame){.type = MSG_watch, .flags = FRAME_REPLY | FRAME_MORE}, &payload);

	buf_clear(&payload);
	r = why_encode(&payload, "no such object");
	assert(r == 0);
	save_frame(dir, "reply_why",
		   &(struct frame){
			   .type = MSG_rename, .flags = FRAME_REPLY, .status = STATUS_NOT_FOUND},
		   &payload);
	buf_fini(&payload);
}

static void
save_wire(const char *dir, const char *target, const char *name, char side, const uint8_t *header,
	  size_t n_bytes)
{
	struct buf bytes;

	buf_init(&bytes);
	append(&bytes, &side, 1);
	append(&bytes, header, n_bytes);
	save(dir, target, name, &bytes);
	buf_fini(&bytes);
}

static void
save_wires(const char *dir)
{
	static const char *const names[] = {"", "read", "write", "map", "show"};
	uint8_t request[WIRE_REQUEST_BYTES], reply[WIRE_REPLY_BYTES];

	for (enum wire_kind kind = WIRE_READ; kind <= WIRE_SHOW; kind++) {
		char name[64];

		wire_request_encode(&(struct wire_request){.kind = kind,
							   .id = 1,
							   .segment_id = 2,
							   .segment_epoch = 3,
							   .offset_bytes = 4096,
							   .len_bytes = 8192},
				    request);
		snprintf(name, sizeof(name), "%s_request", names[kind]);
		save_wire(dir, "fuzz_wire", name, 0, request, sizeof(request));

		wire_reply_encode(&(struct wire_reply){.kind = kind, .status = WIRE_DONE, .id = 1},
				  reply);
		snprintf(name, sizeof(name), "%s_reply", names[kind]);
		save_wire(dir, "fuzz_wire", name, 1, reply, sizeof(reply));
	}
	wire_reply_encode(&(struct wire_reply){.kind = WIRE_NONE, .status = WIRE_BUSY}, reply);
	save_wire(dir, "fuzz_wire", "busy_reply", 1, reply, sizeof(reply));
}

static void
save_rdma_wires(const char *dir)
{
	const struct rdma_hello hello = {.life = 1,
					 .epoch_low = 2,
					 .token = {.client_id = 3,
						   .segment_id = 4,
						   .offset_bytes = 4096,
						   .len_bytes = 8192,
						   .until_ms = 5000,
						   .rights = TOKEN_WRITE,
						   .mac = {6}}};
	const struct rdma_welcome welcome = {.address = 0x7f0000000000,
					     .size_bytes = 200ull << 20,
					     .piece_bytes = 64ull << 20,
					     .n_pieces = 4,
					     .rkeys = {7, 8, 9, 10}};
	uint8_t bytes[RDMA_WELCOME_BYTES];

	rdma_hello_encode(&hello, bytes);
	save_wire(dir, "fuzz_rdma_wire", "hello", 0, bytes, RDMA_HELLO_BYTES);
	rdma_welcome_encode(&welcome, bytes);
	save_wire(dir, "fuzz_rdma_wire", "welcome", 1, bytes, RDMA_WELCOME_BYTES);
	rdma_refusal_encode(WIRE_REFUSED, bytes);
	save_wire(dir, "fuzz_rdma_wire", "refusal", 2, bytes, RDMA_REFUSAL_BYTES);
}

static void
save_texts(const char *dir, const char *target, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct buf bytes;
		char name[32];

		buf_init(&bytes);
		append(&bytes, texts[i], strlen(texts[i]));
		snprintf(name, sizeof(name), "text_%02zu", i);
		save(dir, target, name, &bytes);
		buf_fini(&bytes);
	}
}

/* save_paths -- keys and paths of every kind; what is long the fuzzer makes itself. */
static void
save_paths(const char *dir)
{
	static const char *const paths[] = {
		"a/b/c", "a//b",     "/a/",         "..",        "./x",       "100%25",  "%_/a",
		"a/%@",  "%2E%2E/x", "%2Etiffin/x", ".tiffin/x", "nnn%+/nnn", "\x01\xff"};
	static const char *const words[] = {"a%2Fb",
					    "%2E",
					    "n%~0123456789abcdef",
					    "ro,uid=1,umask=022",
					    "timeout=5s,attr_timeout=1,_netdev,nofail",
					    "prefix=a/b,control=listed,x-a=b",
					    "pin=soft,replicas=2,max_read=1MiB"};

	save_texts(dir, "fuzz_path", paths, array_len(paths));
	save_texts(dir, "fuzz_control", words, array_len(words));
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIR\n");
		return 2;
	}
	for (size_t i = 0; i < array_len(forms); i++) {
		save_message(argv[1], &forms[i], 0);
		save_message(argv[1], &forms[i], i + 1);
	}
	save_frames(argv[1]);
	save_wires(argv[1]);
	save_rdma_wires(argv[1]);
	save_paths(argv[1]);
	return 0;
}
