/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fs/errno.h"
#include "transfer/base/json.h"
#include "transfer/base/num.h"
#include "transfer/base/vec.h"

#define EXTENTS_TOLD 16 /* of a copy; a value has at most 64 KiB */

/* One copy. */
struct copy {
	uint64_t segment_id, n_extents, n_told;
	struct tiffin_extent told[EXTENTS_TOLD];
	char segment[TIFFIN_KEY_MAX], host[TIFFIN_KEY_MAX];
};

struct inside {
	struct fs *fs;
	char key[FS_KEY_ROOM];
	bool is_writing; /* a working version: what follows but for the length is not known */
	struct tiffin_stat stat;
	VEC(struct copy) copies;
};

/* ---- asking ---- */

static int
add_copy(void *arg, const struct tiffin_replica *replica)
{
	struct inside *in = arg;
	struct copy copy = {.segment_id = replica->segment_id, .n_extents = replica->n_extents};

	copy.n_told = num_min(copy.n_extents, (uint64_t)EXTENTS_TOLD);
	memcpy(copy.told, replica->extents, copy.n_told * sizeof(copy.told[0]));
	return vec_push(&in->copies, copy) < 0 ? TIFFIN_E_SYSTEM : 0;
}

static int
name_copies(void *arg, const struct tiffin_segment *segment)
{
	struct inside *in = arg;

	for (size_t i = 0; i < in->copies.n; i++) {
		struct copy *copy = &in->copies.at[i];

		if (copy->segment_id != segment->segment_id)
			continue;
		snprintf(copy->segment, sizeof(copy->segment), "%s", segment->name);
		snprintf(copy->host, sizeof(copy->host), "%s", segment->host);
	}
	return 0;
}

static int
ask_stat(struct inside *in)
{
	return fs_errno(tiffin_stat(in->fs->client, in->key, &in->stat, /* attr_buf= */ NULL));
}

static int
ask_copies(struct inside *in)
{
	int r = tiffin_where(in->fs->client, in->key, add_copy, in);

	if (r == 0 && in->copies.n > 0)
		r = tiffin_segments(in->fs->client, name_copies, in);
	return fs_errno(r);
}

/* ---- telling ---- */

static void
tell_key(struct inside *in, FILE *to)
{
	fputs(in->key, to);
}

static void
tell_id(struct inside *in, FILE *to)
{
	fprintf(to, "%" PRIu64, in->stat.object_id);
}

static const char *
state_word(const struct inside *in)
{
	return in->is_writing ? "writing" : in->stat.n_replicas > 0 ? "complete" : "away";
}

static void
tell_state(struct inside *in, FILE *to)
{
	fputs(state_word(in), to);
}

static void
tell_checksum(struct inside *in, FILE *to)
{
	if (in->stat.has_crc)
		fprintf(to, "crc32c:%08x", in->stat.crc);
	else
		fputs("none", to);
}

static void
tell_lease(struct inside *in, FILE *to)
{
	fprintf(to, "%" PRIu64 "ms", in->stat.lease_left_ms);
}

static const char *
tenant_of(const struct inside *in)
{
	return in->fs->opts->tenant[0] != '\0' ? in->fs->opts->tenant : "default";
}

static void
tell_tenant(struct inside *in, FILE *to)
{
	fputs(tenant_of(in), to);
}

static const char *
pin_word(const struct inside *in)
{
	return in->stat.pin == TIFFIN_HARD_PIN   ? "hard"
	       : in->stat.pin == TIFFIN_SOFT_PIN ? "soft"
						 : "none";
}

static void
tell_pin(struct inside *in, FILE *to)
{
	fputs(pin_word(in), to);
	if (in->stat.pin == TIFFIN_SOFT_PIN)
		fprintf(to, " %" PRIu64 "ms", in->stat.pin_left_ms);
}

static void
tell_put_at(struct inside *in, FILE *to)
{
	fprintf(to, "%" PRIu64 ".%03u", in->stat.put_at_ms / 1000,
		(unsigned)(in->stat.put_at_ms % 1000));
}

static void
tell_group(struct inside *in, FILE *to)
{
	fputs(in->stat.group[0] != '\0' ? in->stat.group : "none", to);
}

/* tell_replicas -- a line a copy: "SEGMENT HOST OFFSET+LENGTH,OFFSET+LENGTH...". */
static void
tell_replicas(struct inside *in, FILE *to)
{
	for (size_t i = 0; i < in->copies.n; i++) {
		const struct copy *copy = &in->copies.at[i];

		fprintf(to, "%s%s %s", i > 0 ? "\n" : "", copy->segment, copy->host);
		for (uint64_t k = 0; k < copy->n_told; k++)
			fprintf(to, "%c%" PRIu64 "+%" PRIu64, k > 0 ? ',' : ' ',
				copy->told[k].offset_bytes, copy->told[k].len_bytes);
		if (copy->n_told < copy->n_extents)
			fprintf(to, ",... (%" PRIu64 " in all)", copy->n_extents);
	}
}

static void
json_copy(struct json *json, const struct copy *copy)
{
	json_open_object(json, NULL);
	json_text(json, "segment", copy->segment);
	json_id(json, "segment_id", copy->segment_id);
	json_text(json, "host", copy->host);
	json_u64(json, "n_extents", copy->n_extents);
	json_open_list(json, "extents");
	for (uint64_t i = 0; i < copy->n_told; i++) {
		json_open_object(json, NULL);
		json_u64(json, "offset_bytes", copy->told[i].offset_bytes);
		json_u64(json, "len_bytes", copy->told[i].len_bytes);
		json_close(json);
	}
	json_close(json);
	json_close(json);
}

static void
tell_json(struct inside *in, FILE *to)
{
	const struct tiffin_stat *stat = &in->stat;
	struct json json;

	json_init(&json, to);
	json_open_object(&json, NULL);
	json_key(&json, "key", in->key);
	json_text(&json, "state", state_word(in));
	json_text(&json, "tenant", tenant_of(in));
	json_u64(&json, "len_bytes", stat->len_bytes);
	if (!in->is_writing) {
		json_id(&json, "object_id", stat->object_id);
		json_u64(&json, "put_at_ms", stat->put_at_ms);
		if (stat->has_crc)
			json_u64(&json, "crc32c", stat->crc);
		json_u64(&json, "lease_left_ms", stat->lease_left_ms);
		json_text(&json, "pin", pin_word(in));
		json_u64(&json, "pin_left_ms", stat->pin_left_ms);
		if (stat->group[0] != '\0')
			json_key(&json, "group", stat->group);
		json_open_list(&json, "replicas");
		for (size_t i = 0; i < in->copies.n; i++)
			json_copy(&json, &in->copies.at[i]);
		json_close(&json);
	}
	json_close(&json);
}

/* What must be asked before it can be told. */
enum asked { NOTHING, STAT, COPIES };

static const struct name {
	const char *name;
	void (*tell)(struct inside *in, FILE *to);
	enum asked asked;
	bool is_always; /* also of what is being written, and of directories */
} names[] = {
	{"key", tell_key, NOTHING, true},         {"state", tell_state, STAT, true},
	{"tenant", tell_tenant, NOTHING, true},   {"id", tell_id, STAT, false},
	{"checksum", tell_checksum, STAT, false}, {"put_at", tell_put_at, STAT, false},
	{"lease", tell_lease, STAT, false},       {"pin", tell_pin, STAT, false},
	{"group", tell_group, STAT, false},       {"replicas", tell_replicas, COPIES, false},
	{"json", tell_json, COPIES, true},
};

const char *
fs_inside_name(size_t n)
{
	return n < array_len(names) ? names[n].name : NULL;
}

/* gather -- what telling it needs.  0, -ENODATA, -errno. */
static int
gather(struct inside *in, const struct fs_node *node, const struct name *name)
{
	int r = 0;

	if (node->is_dir)
		return name->asked == NOTHING ? 0 : -ENODATA; /* no object of its own */
	in->is_writing = node->work.put != NULL;
	if (in->is_writing) {
		in->stat.len_bytes = fs_work_len(node);
		return name->is_always ? 0 : -ENODATA;
	}
	if (!fs_node_is_linked(&in->fs->nodes, node))
		return -ENODATA;
	if (name->asked >= STAT)
		r = ask_stat(in);
	if (r == 0 && name->asked == COPIES)
		r = ask_copies(in);
	return r == -ENOENT ? -ENODATA : r;
}

static int
tell(struct inside *in, const struct name *name, char **ret_text, size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	if (to == NULL)
		return -ENOMEM;
	name->tell(in, to);
	if (fclose(to) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

int
fs_inside_get(struct fs *fs, struct fs_node *node, const char *name, char **ret_text,
	      size_t *ret_len)
{
	struct inside in = {.fs = fs};
	int r = -ENODATA;

	assert(lock_held(&node->lock));

	fs_node_key(&fs->nodes, node, in.key);
	for (size_t i = 0; i < array_len(names); i++) {
		if (strcmp(names[i].name, name) != 0)
			continue;
		r = gather(&in, node, &names[i]);
		if (r == 0)
			r = tell(&in, &names[i], ret_text, ret_len);
	}
	vec_fini(&in.copies);
	return r;
}

/* ---- pins ---- */

/* set_pin -- a word of inside.h. */
static int
set_pin(struct fs *fs, const char *key, const char *word)
{
	uint64_t ttl_ms = 0;

	if (strcmp(word, "none") == 0)
		return fs_errno(tiffin_unpin(fs->client, key));
	if (strcmp(word, "hard") == 0)
		return fs_errno(tiffin_pin(fs->client, key, TIFFIN_HARD_PIN, 0));
	if (strncmp(word, "soft", 4) != 0 || (word[4] != '\0' && word[4] != ' '))
		return -EINVAL;
	if (word[4] == ' ' && num_parse_ms(word + 5, &ttl_ms) != 0)
		return -EINVAL;
	return fs_errno(tiffin_pin(fs->client, key, TIFFIN_SOFT_PIN, ttl_ms));
}

int
fs_inside_set(struct fs *fs, struct fs_node *node, const char *name, const char *value,
	      size_t n_value)
{
	char key[FS_KEY_ROOM];
	char word[32];

	assert(lock_held(&node->lock));

	if (strcmp(name, "pin") != 0 || node->is_dir)
		return -EPERM;
	if (n_value >= sizeof(word))
		return -EINVAL;
	memcpy(word, value, n_value);
	word[n_value] = '\0';
	if (node->work.put != NULL)
		return -EBUSY;
	if (!fs_node_is_linked(&fs->nodes, node))
		return -ESTALE;
	fs_node_key(&fs->nodes, node, key);
	return set_pin(fs, key, word);
}
