/* SPDX-License-Identifier: Apache-2.0 */

/*
 * garbage -- what no honest peer sends, to a master's or provider's address.
 *
 *      garbage unix:/path|IPv4:port           all of it
 *      garbage --silent unix:/path|IPv4:port  fifty that say nothing or half a word, until they are
 * hung up on
 *
 * Random bytes; frames that begin well and lie about their length, type or sum; half a header; one
 * byte and then nothing; a thousand connections that say nothing.  The other side may hang up
 * whenever it likes.  Ends with 0 when every connection could be made and ended.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

#define N_ROUNDS 2000
#define N_IDLE   1000
#define N_SILENT 50

static union {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
} address;
static socklen_t address_len;
static uint64_t dice = 1;

static uint32_t
roll(uint32_t below)
{
	dice = tool_mix(dice + 0x9e3779b97f4a7c15u);
	return (uint32_t)(dice >> 32) % below;
}

static void
take_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[64];

	if (strncmp(text, "unix:", 5) == 0) {
		address.un.sun_family = AF_UNIX;
		snprintf(address.un.sun_path, sizeof(address.un.sun_path), "%s", text + 5);
		address_len = sizeof(address.un);
		return;
	}
	tool_demand(colon != NULL && (size_t)(colon - text) < sizeof(host));
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	address.in.sin_family = AF_INET;
	address.in.sin_port = htons((uint16_t)atoi(colon + 1));
	tool_demand(inet_pton(AF_INET, host, &address.in.sin_addr) == 1);
	address_len = sizeof(address.in);
}

static int
dial(void)
{
	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	tool_demand(fd >= 0);
	/* A full queue of a Unix socket says EAGAIN only when it does not block. */
	if (connect(fd, &address.any, address_len) != 0)
		tool_die("connect: %s", strerror(errno));
	return fd;
}

static void
put_u32(char *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* scribble -- one message of a kind chosen by lot.  Gives its length. */
static size_t
scribble(char bytes[512])
{
	static const uint32_t magics[] = {0x31464954, 0x31574954, 0x31574654, 0xffffffff, 0};
	static const uint32_t lengths[] = {0, 1, 4096, 1u << 24, 0x7fffffff, 0xffffffff};
	size_t len = 1 + roll(511);

	for (size_t i = 0; i < 512; i++)
		bytes[i] = (char)roll(256);
	if (roll(3) == 0)
		return len;
	put_u32(bytes, magics[roll(5)]);
	put_u32(bytes + 4, lengths[roll(6)]);
	put_u32(bytes + 8, roll(64));
	if (roll(2) == 0)
		memset(bytes + 12, roll(2) == 0 ? 0 : 0xff, 24);
	return roll(4) == 0 ? 1 + roll(40) : len;
}

static void
drain(int fd, int wait_ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	char sink[4096];

	while (poll(&ready, 1, wait_ms) > 0 && recv(fd, sink, sizeof(sink), 0) > 0)
		;
}

static void
rounds(void)
{
	char bytes[512];

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		int fd = dial();

		for (unsigned n = 1 + roll(3); n > 0; n--) {
			if (send(fd, bytes, scribble(bytes), MSG_NOSIGNAL) < 0)
				break;
		}
		drain(fd, roll(50) == 0 ? 5 : 0);
		close(fd);
	}
}

static void
idle_ones(void)
{
	int fds[N_IDLE];

	for (unsigned i = 0; i < N_IDLE; i++) {
		fds[i] = dial();
		if (i % 2 == 0)
			(void)!send(fds[i], "TIF1", 1 + i % 4, MSG_NOSIGNAL);
	}
	for (unsigned i = 0; i < N_IDLE; i++)
		close(fds[i]);
}

/* slow_one -- a good beginning, a byte at a time, each in a segment of its own. */
static void
slow_one(void)
{
	int fd = dial();

	for (unsigned i = 0; i < 40 && send(fd, &"TIF1"[i % 4], 1, MSG_NOSIGNAL) == 1; i++)
		drain(fd, 2);
	close(fd);
}

/* silent_ones -- wait until the other side has had enough of each. */
static void
silent_ones(void)
{
	struct pollfd ready = {.events = POLLIN};
	uint64_t until_ms = tool_now_ms() + 20000;
	int fds[N_SILENT];
	char byte;

	for (unsigned i = 0; i < N_SILENT; i++) {
		fds[i] = dial();
		(void)!send(fds[i], "TIF1", i % 5, MSG_NOSIGNAL);
	}
	for (unsigned i = 0; i < N_SILENT; i++) {
		uint64_t now_ms = tool_now_ms();

		ready.fd = fds[i];
		if (now_ms >= until_ms || poll(&ready, 1, (int)(until_ms - now_ms)) <= 0)
			tool_die("silent connection %u is still kept", i);
		tool_demand(recv(fds[i], &byte, 1, 0) <= 0);
		close(fds[i]);
	}
}

int
main(int argc, char **argv)
{
	struct rlimit limit;

	tool_demand(argc == 2 || (argc == 3 && strcmp(argv[1], "--silent") == 0));
	tool_demand(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	take_address(argv[argc - 1]);
	if (argc == 3) {
		silent_ones();
		return 0;
	}
	rounds();
	slow_one();
	idle_ones();
	printf("rounds=%d idle=%d\n", N_ROUNDS, N_IDLE);
	return 0;
}
