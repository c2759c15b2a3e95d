/* SPDX-License-Identifier: Apache-2.0 */
/* example.c -- put an object out of two pieces of memory, and get it back as one. */
#include <stdio.h>
#include <stdlib.h>
#include <tiffin.h>

int
main(void)
{
	struct tiffin_options options = {sizeof(options), .master = getenv("TIFFIN_MASTER")};
	struct tiffin_client *client;
	char hello[] = "hello, ", world[] = "world", whole[64];
	struct iovec put[] = {{hello, 7}, {world, 5}}, get = {whole, sizeof(whole)};
	uint64_t len = 0;
	int r = tiffin_open(&options, &client);

	if (r == 0)
		r = tiffin_put(client, "example/greeting", put, 2, NULL, NULL);
	if (r == 0)
		r = tiffin_get(client, "example/greeting", &get, 1, &len);
	if (r == 0)
		r = tiffin_remove(client, "example/greeting", TIFFIN_FORCE);
	if (r != 0)
		return fprintf(stderr, "%s: %s\n", tiffin_strerror(r), tiffin_why()), 1;
	printf("got %llu bytes: %.*s\n", (unsigned long long)len, (int)len, whole);
	tiffin_close(client);
	return 0;
}
