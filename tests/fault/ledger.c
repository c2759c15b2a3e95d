/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/ledger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct ledger_row *
ledger_row(struct ledger *ledger, const char *key)
{
	struct ledger_row *row;

	for (size_t i = 0; i < ledger->n; i++)
		if (strcmp(ledger->rows[i].key, key) == 0)
			return &ledger->rows[i];

	assert(ledger->n < LEDGER_KEYS_MAX && strlen(key) < LEDGER_KEY_BYTES);
	row = &ledger->rows[ledger->n++];
	*row = (struct ledger_row){.may_be_absent = true};
	strcpy(row->key, key);
	return row;
}

void
row_is(struct ledger_row *row, struct value value)
{
	row->may_be_absent = false;
	row->n_values = 1;
	row->values[0] = value;
}

void
row_may_be(struct ledger_row *row, struct value value)
{
	assert(row->n_values < LEDGER_VALUES_MAX);
	row->values[row->n_values++] = value;
}

void
row_is_absent(struct ledger_row *row)
{
	row->may_be_absent = true;
	row->n_values = 0;
}

void
row_may_be_absent(struct ledger_row *row)
{
	row->may_be_absent = true;
}

void
row_moved(struct ledger_row *from, struct ledger_row *to, bool is_sure)
{
	if (is_sure) {
		to->n_values = 0;
		to->may_be_absent = false;
	}
	for (unsigned i = 0; i < from->n_values; i++)
		row_may_be(to, from->values[i]);
	if (is_sure)
		row_is_absent(from);
	else
		row_may_be_absent(from);
}

/* ---- bytes -------------------------------------------------------------------------------- */

static uint64_t
word_at(uint32_t seed, uint64_t n)
{
	uint64_t z = ((uint64_t)seed << 32) + n * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	return z ^ (z >> 27);
}

static uint8_t
byte_at(uint32_t seed, uint64_t at)
{
	return (uint8_t)(word_at(seed, at / 8) >> (at % 8 * 8));
}

void
value_fill(struct value value, uint64_t offset, const struct iovec *slices, size_t n_slices)
{
	for (size_t i = 0; i < n_slices; i++) {
		uint8_t *bytes = slices[i].iov_base;

		for (size_t j = 0; j < slices[i].iov_len; j++)
			bytes[j] = byte_at(value.seed, offset + j);
		offset += slices[i].iov_len;
	}
}

bool
value_is(struct value value, uint64_t offset, const struct iovec *slices, size_t n_slices,
	 uint64_t len_bytes)
{
	for (size_t i = 0; i < n_slices && len_bytes > 0; i++) {
		const uint8_t *bytes = slices[i].iov_base;

		for (size_t j = 0; j < slices[i].iov_len && len_bytes > 0; j++, len_bytes--)
			if (bytes[j] != byte_at(value.seed, offset + j))
				return false;
		offset += slices[i].iov_len;
	}
	return len_bytes == 0;
}

bool
row_allows(const struct ledger_row *row, const struct iovec *slices, size_t n_slices,
	   uint64_t len_bytes)
{
	for (unsigned i = 0; i < row->n_values; i++)
		if (row->values[i].len_bytes == len_bytes &&
		    value_is(row->values[i], 0, slices, n_slices, len_bytes))
			return true;
	return false;
}

/* ---- the file ------------------------------------------------------------------------------ */

int
ledger_save(const struct ledger *ledger, const char *path)
{
	FILE *file = fopen(path, "we");

	if (file == NULL)
		return -1;
	for (size_t i = 0; i < ledger->n; i++) {
		const struct ledger_row *row = &ledger->rows[i];

		fprintf(file, "%s %d %u", row->key, row->may_be_absent, row->n_values);
		for (unsigned v = 0; v < row->n_values; v++)
			fprintf(file, " %" PRIu32 " %" PRIu64, row->values[v].seed,
				row->values[v].len_bytes);
		fputc('\n', file);
	}
	return fclose(file) == 0 ? 0 : -1;
}

int
ledger_load(struct ledger *ledger, const char *path)
{
	FILE *file = fopen(path, "re");
	char key[LEDGER_KEY_BYTES];
	unsigned n_values;
	int absent;

	ledger->n = 0;
	if (file == NULL)
		return -1;
	while (fscanf(file, "%63s %d %u", key, &absent, &n_values) == 3) {
		struct ledger_row *row = ledger_row(ledger, key);

		row->may_be_absent = absent != 0;
		for (unsigned v = 0; v < n_values && v < LEDGER_VALUES_MAX; v++) {
			struct value value;

			if (fscanf(file, "%" SCNu32 " %" SCNu64, &value.seed, &value.len_bytes) !=
			    2)
				break;
			row_may_be(row, value);
		}
	}
	fclose(file);
	return 0;
}
