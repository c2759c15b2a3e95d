/* SPDX-License-Identifier: Apache-2.0 */

/* put_spare.c -- memory of puts that are over, for those to come. */
#include "master/books.h"

#define PUTS_SPARE_MAX 1024

void
put_spare(struct master *master, struct put *put)
{
	if (master->n_spare_puts == PUTS_SPARE_MAX) {
		free(put);
		return;
	}
	put->next_same_key = master->spare_puts;
	master->spare_puts = put;
	master->n_spare_puts++;
}

struct put *
put_spare_take(struct master *master)
{
	struct put *put = master->spare_puts;

	if (put == NULL)
		return malloc(sizeof(*put));
	master->spare_puts = put->next_same_key;
	master->n_spare_puts--;
	return put;
}

void
puts_free(struct master *master)
{
	while (master->spare_puts != NULL)
		free(put_spare_take(master));
}
