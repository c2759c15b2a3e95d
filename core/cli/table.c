/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/table.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "core/cli/key_text.h"
#include "transfer/base/err.h"
#include "transfer/base/vec.h"

struct table {
	const char *titles[TABLE_COLUMNS_MAX];
	bool is_right[TABLE_COLUMNS_MAX];
	size_t n_columns;
	VEC(char *) cells; /* owned, row by row */
	bool out_of_memory;
};

int
table_new(const char *const *titles, struct table **ret_table)
{
	struct table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return err_new(-ENOMEM);

	for (; titles[table->n_columns] != NULL; table->n_columns++) {
		size_t i = table->n_columns;

		assert(i < TABLE_COLUMNS_MAX);
		table->is_right[i] = titles[i][0] == '>';
		table->titles[i] = titles[i] + table->is_right[i];
	}
	assert(table->n_columns > 0);
	*ret_table = table;
	return 0;
}

void
table_free(struct table *table)
{
	if (table == NULL)
		return;
	for (size_t i = 0; i < table->cells.n; i++)
		free(table->cells.at[i]);
	vec_fini(&table->cells);
	free(table);
}

void
table_cell(struct table *table, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (r < 0) {
		table->out_of_memory = true;
		return;
	}
	if (vec_push(&table->cells, text) < 0) {
		table->out_of_memory = true;
		free(text);
	}
}

size_t
table_n_rows(const struct table *table)
{
	return table->cells.n / table->n_columns;
}

/* print_row -- two blanks between columns, none behind the last one. */
static void
print_row(const struct table *table, const size_t *widths, char *const *cells, FILE *to)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		size_t pad = widths[i] - utf8_width(cells[i]);
		bool is_last = i + 1 == table->n_columns;

		if (table->is_right[i])
			fprintf(to, "%*s%s", (int)pad, "", cells[i]);
		else
			fprintf(to, "%s%*s", cells[i], is_last ? 0 : (int)pad, "");
		fputs(is_last ? "\n" : "  ", to);
	}
}

int
table_print(const struct table *table, FILE *to)
{
	size_t widths[TABLE_COLUMNS_MAX];

	if (table->out_of_memory)
		return err_new(-ENOMEM);
	assert(table->cells.n % table->n_columns == 0);

	for (size_t i = 0; i < table->n_columns; i++)
		widths[i] = utf8_width(table->titles[i]);
	for (size_t i = 0; i < table->cells.n; i++) {
		size_t width = utf8_width(table->cells.at[i]);

		if (width > widths[i % table->n_columns])
			widths[i % table->n_columns] = width;
	}

	print_row(table, widths, (char *const *)table->titles, to);
	for (size_t i = 0; i < table->cells.n; i += table->n_columns)
		print_row(table, widths, table->cells.at + i, to);
	return 0;
}
