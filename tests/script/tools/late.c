/* SPDX-License-Identifier: Apache-2.0 */

/*
 * late -- a get that fails must never write into the buffer afterwards.
 *
 *      late KEY BYTES
 *
 * Connects to the object's provider by one good get and says "ready".  At SIGUSR1: gets again,
 * which must fail, says "failed took_ms=N", and fills the buffer with a pattern of its own.  At the
 * next SIGUSR1, by which time the provider is awake again, the pattern must be whole, and a get
 * works.
 */
#include <signal.h>

#include "tests/script/tools/tool.h"

#define CANARY 77

static void
wait_for_signal(const sigset_t *signals)
{
	int number;

	tool_demand(sigwait(signals, &number) == 0);
}

int
main(int argc, char **argv)
{
	size_t len_bytes = argc == 3 ? (size_t)atol(argv[2]) : 0;
	char *bytes = tool_alloc(len_bytes);
	struct iovec slice = {bytes, len_bytes};
	struct tiffin_client *client;
	uint64_t len, began_ms;
	sigset_t signals;
	int r;

	tool_demand(argc == 3);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	client = tool_open();
	tool_demand(tiffin_get(client, argv[1], &slice, 1, &len) == 0);
	puts("ready");
	fflush(stdout);

	wait_for_signal(&signals);
	began_ms = tool_now_ms();
	r = tiffin_get(client, argv[1], &slice, 1, &len);
	tool_demand(r != 0);
	tool_fill(bytes, len_bytes, CANARY);
	printf("failed code=%s took_ms=%zu\n", tiffin_errname(r),
	       (size_t)(tool_now_ms() - began_ms));
	fflush(stdout);

	wait_for_signal(&signals);
	tool_demand(tool_is(bytes, len_bytes, CANARY));
	tool_demand(tiffin_get(client, argv[1], &slice, 1, &len) == 0);
	tool_demand(tool_is(bytes, len_bytes, tool_seed(argv[1], 0)));
	tiffin_close(client);
	free(bytes);
	return 0;
}
