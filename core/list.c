/* SPDX-License-Identifier: Apache-2.0 */

/* A list is a page of the master's answer at a time; the next page begins behind the last key. */
#include <stdio.h>
#include <string.h>

#include "core/ask.h"
#include "core/put.h"
#include "core/stat.h"
#include "core/why.h"

#define LIST_MAGIC 0x746c6973u
#define PAGE_MAX   1024

struct tiffin_list {
	unsigned magic;
	struct tiffin_client *client;
	char prefix[TIFFIN_KEY_MAX + 1];
	char after[TIFFIN_KEY_MAX + 1]; /* the key told last */
	char delimiter;
	char *pattern;                    /* owned; NULL: every key */
	char group[TIFFIN_GROUP_MAX + 1]; /* with a pattern: and of that group; "": any or none */
	uint64_t segment_id;              /* only what has a copy there; 0: wherever */
	char looked[TIFFIN_KEY_MAX + 1];  /* of a list in stretches: the key looked at last */
	struct ask ask;                   /* page lives in its reply */
	struct rep_list page;
	uint32_t at;
};

static int
open_list(struct tiffin_client *client, const char *prefix, const char *after,
	  struct tiffin_list **ret_list)
{
	struct tiffin_list *list;

	if (strlen(prefix) > TIFFIN_KEY_MAX || strlen(after) > TIFFIN_KEY_MAX)
		return why_set(TIFFIN_E_INVALID, "a prefix is at most %d bytes", TIFFIN_KEY_MAX);
	list = calloc(1, sizeof(*list));
	if (list == NULL)
		return why_no_memory();
	list->magic = LIST_MAGIC;
	list->client = client;
	snprintf(list->prefix, sizeof(list->prefix), "%s", prefix);
	snprintf(list->after, sizeof(list->after), "%s", after);
	list->page.has_more = 1;
	ask_init(&list->ask, client);
	*ret_list = list;
	return 0;
}

int
tiffin_list_open(struct tiffin_client *client, const char *prefix, char delimiter,
		 const char *after, struct tiffin_list **ret_list)
{
	struct tiffin_list *list = NULL;
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = open_list(client, prefix != NULL ? prefix : "", after != NULL ? after : "", &list);
	if (r == 0) {
		list->delimiter = delimiter;
		*ret_list = list;
	}
	return r == 0 ? (client_leave(client, 0), 0) : client_leave(client, r);
}

static void
free_list(struct tiffin_list *list)
{
	ask_fini(&list->ask);
	free(list->pattern);
	list->magic = 0;
	free(list);
}

/* open_matching -- by pattern, and of a group unless that is "". */
static int
open_matching(struct tiffin_client *client, const char *pattern, const char *group,
	      const char *prefix, struct tiffin_list **ret_list)
{
	struct tiffin_list *list = NULL;
	int r = 0;

	if (pattern == NULL || strlen(pattern) > TEXT_MAX)
		r = why_set(TIFFIN_E_INVALID, "a pattern has at most %d bytes", TEXT_MAX);
	if (r == 0)
		r = open_list(client, prefix != NULL ? prefix : "", "", &list);
	if (r != 0)
		return r;
	snprintf(list->group, sizeof(list->group), "%s", group);
	list->pattern = strdup(pattern);
	if (list->pattern == NULL) {
		free_list(list);
		return why_no_memory();
	}
	*ret_list = list;
	return 0;
}

int
tiffin_list_regex_open(struct tiffin_client *client, const char *pattern, const char *prefix,
		       struct tiffin_list **ret_list)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	return client_leave(client, open_matching(client, pattern, "", prefix, ret_list));
}

int
tiffin_list_group_open(struct tiffin_client *client, const char *group, const char *pattern,
		       const char *prefix, struct tiffin_list **ret_list)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = put_group_check(group);
	if (r == 0 && (group == NULL || group[0] == '\0'))
		r = why_set(TIFFIN_E_INVALID, "of which group?");
	if (r == 0)
		r = open_matching(client, pattern != NULL ? pattern : "", group, prefix, ret_list);
	return client_leave(client, r);
}

int
tiffin_list_segment_open(struct tiffin_client *client, uint64_t segment_id, const char *prefix,
			 struct tiffin_list **ret_list)
{
	struct tiffin_list *list = NULL;
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = segment_id == 0 ? why_set(TIFFIN_E_INVALID, "no segment has the id 0")
			    : open_list(client, prefix != NULL ? prefix : "", "", &list);
	if (r == 0) {
		list->segment_id = segment_id;
		*ret_list = list;
	}
	return client_leave(client, r);
}

/* in_stretches -- the master looks at some keys a request, of which none may be wanted. */
static bool
in_stretches(const struct tiffin_list *list)
{
	return list->pattern != NULL || list->segment_id != 0;
}

/* encode_stretch -- the request for the next one. */
static int
encode_stretch(const struct tiffin_list *list, struct buf *to)
{
	struct span prefix = span_of(list->prefix, strlen(list->prefix));
	struct span after = span_of(list->looked, strlen(list->looked));

	if (list->segment_id != 0)
		return msg_list_by_segment_encode(
			to, &(struct msg_list_by_segment){list->segment_id, prefix, after});
	return msg_list_by_regex_encode(
		to,
		&(struct msg_list_by_regex){prefix, span_of(list->pattern, strlen(list->pattern)),
					    after, span_of(list->group, strlen(list->group))});
}

/* turn_stretch -- turn_page() for such a list; a page may be empty and not the last. */
static int
turn_stretch(struct tiffin_list *list)
{
	uint16_t type = list->segment_id != 0 ? MSG_list_by_segment : MSG_list_by_regex;
	struct rep_list_by_regex rep = {0}; /* both answer alike */
	struct ask *ask = &list->ask;
	int r;

	ask_again(ask);
	r = ask_call(ask, type, encode_stretch(list, &ask->payload), client_until(list->client));
	if (r == 0)
		r = ask_read(ask,
			     rep_list_by_regex_decode(ask->reply.payload, ask->reply.arena, &rep));
	list->at = 0;
	list->page = (struct rep_list){.has_more = 1}; /* a later call tries again */
	if (r != 0)
		return r;
	memcpy(list->looked, rep.after.at, rep.after.len);
	list->looked[rep.after.len] = '\0';
	list->page = (struct rep_list){rep.has_more, rep.n_listed, rep.listed};
	return 0;
}

/* turn_page -- the next answer of the master. */
static int
turn_page(struct tiffin_list *list)
{
	const struct msg_list msg = {.prefix = span_of(list->prefix, strlen(list->prefix)),
				     .after = span_of(list->after, strlen(list->after)),
				     .delimiter = (uint8_t)list->delimiter,
				     .most = PAGE_MAX};
	struct ask *ask = &list->ask;
	int r;

	ask_again(ask);
	r = ask_call(ask, MSG_list, msg_list_encode(&ask->payload, &msg),
		     client_until(list->client));
	if (r == 0)
		r = ask_read(ask,
			     rep_list_decode(ask->reply.payload, ask->reply.arena, &list->page));
	list->at = 0;
	if (r != 0)
		list->page = (struct rep_list){.has_more = 1}; /* a later call tries again */
	return r;
}

static int
next(struct tiffin_list *list, struct tiffin_stat *ret_stat)
{
	const struct rec_listed *listed;
	int r;

	while (list->at == list->page.n_listed) {
		if (list->page.has_more == 0)
			return 0;
		r = in_stretches(list) ? turn_stretch(list) : turn_page(list);
		if (r != 0)
			return r;
		if (list->page.n_listed == 0 && !in_stretches(list))
			list->page.has_more = 0; /* more, but none told: would go on for ever */
	}
	listed = &list->page.listed[list->at++];
	memcpy(list->after, listed->key.at, listed->key.len);
	list->after[listed->key.len] = '\0';
	if (ret_stat != NULL) {
		*ret_stat = (struct tiffin_stat){.object_id = listed->object_id,
						 .len_bytes = listed->len_bytes,
						 .put_at_ms = listed->put_at_ms,
						 .is_prefix = listed->is_prefix != 0,
						 .attr = listed->attr.at,
						 .attr_bytes = listed->attr.len};
		stat_group(ret_stat, listed->group);
	}
	return 1;
}

int
tiffin_list_next(struct tiffin_list *list, const char **ret_key, struct tiffin_stat *ret_stat)
{
	int r;

	if (list == NULL || list->magic != LIST_MAGIC)
		return why_set(TIFFIN_E_INVALID, "no list: tiffin_list_open() makes one");
	r = client_enter(list->client);
	if (r != 0)
		return r;
	r = client_leave(list->client, next(list, ret_stat));
	if (r == 1)
		*ret_key = list->after;
	return r;
}

void
tiffin_list_close(struct tiffin_list *list)
{
	if (list == NULL || list->magic != LIST_MAGIC)
		return;
	free_list(list);
}
