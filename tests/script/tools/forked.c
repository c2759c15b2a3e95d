/* SPDX-License-Identifier: Apache-2.0 */

/*
 * forked -- children of a process that has a client open, lends a segment, and goes on putting.
 *
 * A child's calls on its parent's client are TIFFIN_E_FORKED at once; its memory around
 * registered buffers is its own; it may open a client of its own; and however it ends, the
 * parent's client, segment and objects stay.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

#define BUF_BYTES (1u << 20)

enum ending { BY_EXIT, BY_UNDERSCORE_EXIT, BY_CLOSE, BY_OWN_CLIENT, N_ENDINGS };

static struct tiffin_client *client;
static char *bytes;

static void
child_main(enum ending ending)
{
	struct iovec slice = {bytes, BUF_BYTES};
	const char *key = "k000";
	int result;
	uint64_t len, began_ms = tool_now_ms();

	alarm(10);
	memset(bytes, 1, BUF_BYTES);
	tool_demand(tiffin_get(client, key, &slice, 1, &len) == TIFFIN_E_FORKED);
	tool_demand(tiffin_put(client, "child", &slice, 1, NULL, NULL) == TIFFIN_E_FORKED);
	tool_demand(tiffin_exist(client, &key, 1, &result) == TIFFIN_E_FORKED);
	tool_demand(tiffin_ping(client) == TIFFIN_E_FORKED);
	tool_demand(tool_now_ms() - began_ms < 1000);
	if (ending == BY_CLOSE)
		tiffin_close(client);
	if (ending == BY_OWN_CLIENT) {
		struct tiffin_client *own = tool_open();

		tool_demand(tiffin_get(own, key, &slice, 1, &len) == 0);
		tool_demand(len == BUF_BYTES && tool_is(bytes, BUF_BYTES, 0));
		tiffin_close(own);
	}
	if (ending == BY_UNDERSCORE_EXIT)
		_exit(0);
	exit(0);
}

static void
put_and_get(unsigned i)
{
	struct iovec slice = {bytes, BUF_BYTES};
	uint64_t len;
	char key[16];

	snprintf(key, sizeof(key), "k%03u", i);
	tool_fill(bytes, BUF_BYTES, i);
	tool_demand(tiffin_put(client, key, &slice, 1, NULL, NULL) == 0);
	memset(bytes, 0, BUF_BYTES);
	tool_demand(tiffin_get(client, key, &slice, 1, &len) == 0);
	tool_demand(len == BUF_BYTES && tool_is(bytes, BUF_BYTES, i));
}

int
main(void)
{
	struct tiffin_mount_options options = {
		.struct_bytes = sizeof(options), .name = "forker", .size_bytes = 64u << 20};
	uint64_t segment_id;
	int status;

	client = tool_open();
	bytes = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tool_demand(bytes != MAP_FAILED);
	tool_demand(tiffin_register(client, bytes, BUF_BYTES) == 0);
	tool_demand(tiffin_mount(client, &options, &segment_id) == 0);
	put_and_get(0);
	for (unsigned i = 1; i <= 5 * N_ENDINGS; i++) {
		pid_t pid = fork();

		tool_demand(pid >= 0);
		if (pid == 0)
			child_main(i % N_ENDINGS);
		put_and_get(i);
		tool_demand(waitpid(pid, &status, 0) == pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			tool_die("child %u ended with status %#x", i, (unsigned)status);
		tool_demand(tiffin_ping(client) == 0);
	}
	for (unsigned i = 0; i <= 5 * N_ENDINGS; i++) {
		struct iovec slice = {bytes, BUF_BYTES};
		uint64_t len;
		char key[16];

		snprintf(key, sizeof(key), "k%03u", i);
		tool_demand(tiffin_get(client, key, &slice, 1, &len) == 0);
		tool_demand(tool_is(bytes, BUF_BYTES, i));
	}
	tool_demand(tiffin_unregister(client, bytes) == 0);
	tool_demand(tiffin_unmount(client, segment_id) == 0);
	tiffin_close(client);
	return 0;
}
