/* SPDX-License-Identifier: Apache-2.0 */

/* handle_setting.c -- settings: change some that may change while the master works, and tell all.
 */
#include <string.h>

#include "master/handle.h"
#include "master/settings.h"

static int
set_one(struct master *master, const struct rec_setting_set *set, struct buf *out)
{
	char name[NAME_MAX_BYTES + 1], text[TEXT_MAX + 1], why[TEXT_MAX];
	struct rec_setting_fate fate = {0};
	int r;

	memcpy(name, set->name.at, set->name.len);
	name[set->name.len] = '\0';
	memcpy(text, set->value.at, set->value.len);
	text[set->value.len] = '\0';
	r = settings_set(master, name, text, why, sizeof(why));
	fate.status = r == 0                   ? STATUS_OK
		      : r == SETTING_E_UNKNOWN ? STATUS_NOT_FOUND
					       : STATUS_INVALID;
	fate.words = span_of(why, strlen(why));
	return rec_setting_fate_encode(out, &fate);
}

static int
tell_one(const struct master *master, size_t at, struct buf *out)
{
	struct known_setting known = settings_known(&master->configured, at);
	struct rec_setting_state rec = {
		.name = span_of(known.name, strlen(known.name)),
		.unit = span_of(known.unit, strlen(known.unit)),
		.help = span_of(known.help, strlen(known.help)),
		.value = settings_value(&master->limits, at),
		.configured = known.configured,
		.least = known.least,
		.most = known.most,
	};

	return rec_setting_state_encode(out, &rec);
}

int
handle_settings(struct peer *peer, const struct msg_settings *msg, struct buf *out)
{
	struct master *master = peer->master;
	int r = codec_put_u32(out, msg->n_sets);

	for (uint32_t i = 0; r == 0 && i < msg->n_sets; i++)
		r = set_one(master, &msg->sets[i], out);
	if (r == 0)
		r = codec_put_u32(out, (uint32_t)settings_n());
	for (size_t i = 0; r == 0 && i < settings_n(); i++)
		r = tell_one(master, i, out);
	return handle_encoded(r);
}
