/* SPDX-License-Identifier: Apache-2.0 */
/* example.c -- put an object, get it back. */
#include <stdio.h>
#include <tiffin.h>

int
main(void)
{
	struct tiffin_client *client;
	char hello[] = "hello, ", world[] = "world", whole[64];
	struct iovec put[] = {{hello, 7}, {world, 5}}, get = {whole, sizeof(whole)};
	uint64_t len = 0;
	int r = tiffin_open(NULL, &client);

	if (r != 0)
		return fprintf(stderr, "no store: %s\n", tiffin_why()), 1;
	r = tiffin_put(client, "example/greeting", put, 2, NULL, NULL);
	if (r == 0)
		r = tiffin_get(client, "example/greeting", &get, 1, &len);
	printf("%s: %.*s\n", r == 0 ? "got" : tiffin_why(), (int)len, whole);
	tiffin_remove(client, "example/greeting", 0);
	tiffin_close(client);
	return r != 0;
}
