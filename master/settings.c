/* SPDX-License-Identifier: Apache-2.0 */
#include "master/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "master/options.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

static const struct {
	const char *name;
	size_t option_at, limit_at;
} settings[] = {
#define OPTION(kind, field, unit, def, min, max, help)
#define SETTING(field)                                                                             \
	{#field, offsetof(struct master_options, field), offsetof(struct master_limits, field)},
#include "master/options.def"
#undef OPTION
};

static const uint64_t *
value_at(const void *base, size_t at)
{
	return (const void *)((const char *)base + at);
}

static const struct option_def *
def_of(const char *name)
{
	for (size_t i = 0; i < master_options_list.n; i++)
		if (strcmp(master_options_list.defs[i].name, name) == 0)
			return &master_options_list.defs[i];
	assert(false); /* every SETTING has its OPTION */
	return NULL;
}

size_t
settings_n(void)
{
	return array_len(settings);
}

uint64_t
settings_value(const struct master_limits *limits, size_t at)
{
	return *value_at(limits, settings[at].limit_at);
}

struct known_setting
settings_known(const struct master_limits *configured, size_t at)
{
	const struct option_def *def = def_of(settings[at].name);

	return (struct known_setting){
		.name = def->name,
		.unit = def->unit,
		.help = def->help,
		.least = def->min,
		.most = def->max,
		.configured = settings_value(configured, at),
	};
}

static size_t
find(const char *name)
{
	for (size_t i = 0; i < array_len(settings); i++)
		if (strcmp(settings[i].name, name) == 0)
			return i;
	return array_len(settings);
}

/* parse -- as the command line would.  0 or -EINVAL with why. */
static int
parse(size_t at, const char *text, uint64_t *ret_value, char *why, size_t why_cap)
{
	struct master_options opts;
	int r;

	snprintf(why, why_cap, "out of memory");
	if (options_init(&master_options_list, &opts) < 0)
		return -EINVAL;
	r = options_set(&master_options_list, &opts, settings[at].name, text, why, why_cap);
	*ret_value = *value_at(&opts, settings[at].option_at);
	options_fini(&master_options_list, &opts);
	return r;
}

/* show -- a value as it is told. */
static const char *
show(char *buf, size_t cap, size_t at, uint64_t value)
{
	const struct option_def *def = def_of(settings[at].name);

	if (def->kind == OPTION_CHOICE)
		return num_show_word(buf, cap, value, def->unit);
	snprintf(buf, cap, "%" PRIu64, value);
	return buf;
}

/* change -- judge it together with the others, then it is in force. */
static int
change(struct master *master, size_t at, uint64_t value, char *why, size_t why_cap)
{
	struct master_limits limits = master->limits;
	uint64_t *to = (uint64_t *)(void *)((char *)&limits + settings[at].limit_at);
	uint64_t before = *to;
	char now[32], was[32];

	*to = value;
	if (limits.evict_low_pct >= limits.evict_high_pct) {
		snprintf(why, why_cap, "evict_low_pct must be below evict_high_pct (%" PRIu64 ")",
			 limits.evict_high_pct);
		return SETTING_E_WRONG;
	}
	snprintf(why, why_cap, "%s: %s, was %s", settings[at].name,
		 show(now, sizeof(now), at, value), show(was, sizeof(was), at, before));
	if (value == before)
		return 0;
	master->limits = limits;
	log_event(LOG_INFO, "setting_changed", "name=%s value=%s before=%s", settings[at].name, now,
		  was);
	event_tell(master, EVENT_setting_changed, 0, "%s", why);
	return 0;
}

int
settings_set(struct master *master, const char *name, const char *text, char *why, size_t why_cap)
{
	size_t at = find(name);
	uint64_t value = 0;
	int r;

	if (at == array_len(settings)) {
		snprintf(why, why_cap, "%s: no setting that can change while the master works",
			 name);
		return SETTING_E_UNKNOWN;
	}
	if (text[0] == '\0')
		value = settings_value(&master->configured, at);
	else if (parse(at, text, &value, why, why_cap) < 0)
		return SETTING_E_WRONG;
	r = change(master, at, value, why, why_cap);
	if (r == 0 && master->orders != NULL &&
	    !orders_keep(master->orders, name, text[0] == '\0' ? NULL : &value))
		log_event(LOG_WARN, "setting_not_kept", "name=%s", name);
	return r;
}

/* ---- orders.db --------------------------------------------------------------------------- */

static const struct order *
ordered(const struct orders_news *news, const char *name)
{
	for (size_t i = 0; i < news->orders.n; i++)
		if (news->orders.at[i].kind == ORDER_SETTING &&
		    strcmp(news->orders.at[i].name, name) == 0)
			return &news->orders.at[i];
	return NULL;
}

static int
obey_setting(struct master *master, size_t at, const struct order *order, char *why, size_t why_cap)
{
	const struct option_def *def = def_of(settings[at].name);
	uint64_t value = order == NULL ? settings_value(&master->configured, at)
				       : (uint64_t)order->values[0];

	if (order != NULL && (order->values[0] < 0 || value < def->min || value > def->max)) {
		snprintf(why, why_cap, "%" PRId64 " is out of range", order->values[0]);
		return SETTING_E_WRONG;
	}
	return change(master, at, value, why, why_cap);
}

/* Two rounds: of two that belong together either may have to come first. */
void
order_settings(struct master *master, const struct orders_news *news)
{
	struct order_outcome outcome = {0};

	for (size_t i = 0; i < 2 * array_len(settings); i++) {
		size_t at = i % array_len(settings);
		const struct order *order = ordered(news, settings[at].name);
		int r = obey_setting(master, at, order, outcome.words, sizeof(outcome.words));

		outcome.state = r == 0 ? ORDER_DONE : ORDER_REFUSED;
		if (order != NULL && order->state == ORDER_NEW && i >= array_len(settings))
			order_tell(master, order, &outcome);
	}
}
