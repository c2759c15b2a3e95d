/* SPDX-License-Identifier: Apache-2.0 */

/*
 * table.h -- rows for people: every column as wide as its widest cell.
 *
 *      NAME      STATE     USED
 *      host-7    ALIVE  1.5 GiB
 */
#ifndef CORE_CLI_TABLE_H
#define CORE_CLI_TABLE_H

#include <stdio.h>

#include "transfer/base/base.h"

#define TABLE_COLUMNS_MAX 16

struct table;

/*
 * table_new -- a title for each column; one that begins with '>' is set flush right.
 *
 * needs:   titles stay valid; 1..TABLE_COLUMNS_MAX of them, then NULL.
 * result:  0 or -ENOMEM.
 */
int table_new(const char *const *titles, struct table **ret_table) MUST_CHECK;
void table_free(struct table *table);
DEFINE_CLEANUP(struct table, table_free);

/* table_cell -- the next cell, row by row.  A lack of memory is remembered for table_print(). */
void table_cell(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

size_t table_n_rows(const struct table *table);

/* table_print -- titles and whole rows.  0 or -ENOMEM, then nothing was printed. */
int table_print(const struct table *table, FILE *to) MUST_CHECK;

#endif
