/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_peers -- get over loopback, against the stores that everybody knows: memcached and redis.
 *
 * Their programs are those of the distribution, on this machine, with as much memory and nothing
 * written to disks; they are spoken to by the barest client.  Turns are taken, N_PAIRS times;
 * ratio is the median of (their time / our time).  One that is not installed is skipped.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/ring.h"

#define N_KEYS      64
#define BYTES_A_LEG (64 * MIB)
#define WAIT_S      10

struct peer {
	const char *name;
	const char *question, *head, *tail; /* of a get: formats of key number and length */
	const char *store;                  /* of a set, without the bytes */
	const char *stored;                 /* the answer to it */
	pid_t pid;
	int fd;
};

static const struct peer peers[] = {
	{.name = "memcached",
	 .question = "get object-%1$zu\r\n",
	 .head = "VALUE object-%1$zu 0 %2$zu\r\n",
	 .tail = "\r\nEND\r\n",
	 .store = "set object-%1$zu 0 0 %2$zu\r\n",
	 .stored = "STORED\r\n"},
	{.name = "redis",
	 .question = "GET object-%1$zu\r\n",
	 .head = "$%2$zu\r\n",
	 .tail = "\r\n",
	 .store = "*3\r\n$3\r\nSET\r\n$9\r\nobject-%1$02zu\r\n$%2$zu\r\n",
	 .stored = "+OK\r\n"},
};

/* ---- their programs ---- */

static unsigned
free_port(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	house_must(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), "bind");
	house_must(getsockname(fd, (struct sockaddr *)&addr, &len), "getsockname");
	close(fd);
	return ntohs(addr.sin_port);
}

static void
run(const char *name, char *port)
{
	char *const memcached[] = {"memcached", "-l", "127.0.0.1", "-p", port, "-U", "0",    "-m",
				   "512",       "-I", "16m",       "-t", "2",  "-u", "root", NULL};
	char *const redis[] = {"redis-server", "--bind", "127.0.0.1",    "--port", port,
			       "--save",       "",       "--appendonly", "no",     NULL};
	bool is_redis = strcmp(name, "redis") == 0;

	if (freopen("/dev/null", "w", stdout) == NULL)
		_exit(127);
	execvp(is_redis ? redis[0] : memcached[0], is_redis ? redis : memcached);
	_exit(127);
}

/* peer_open -- false: it is not installed. */
static bool
peer_open(struct peer *peer)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	double until_s = house_now_s() + WAIT_S;
	char port[16];
	int one = 1;

	snprintf(port, sizeof(port), "%u", free_port());
	addr.sin_port = htons((uint16_t)atoi(port));
	fflush(stdout);
	peer->pid = fork();
	house_must(peer->pid < 0, "fork");
	if (peer->pid == 0)
		run(peer->name, port);
	while (house_now_s() < until_s) {
		if (waitpid(peer->pid, NULL, WNOHANG) == peer->pid)
			return false;
		peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(peer->fd, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
			setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			setsockopt(peer->fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
			return true;
		}
		close(peer->fd);
		usleep(20000);
	}
	house_must(-1, peer->name);
	return false;
}

static void
peer_close(struct peer *peer)
{
	close(peer->fd);
	kill(peer->pid, SIGTERM);
	waitpid(peer->pid, NULL, 0);
}

/* ---- speaking to them ---- */

static void
say(int fd, const void *bytes, size_t len)
{
	house_must(send(fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len, "send");
}

static void
hear(int fd, void *bytes, size_t len)
{
	house_must(recv(fd, bytes, len, MSG_WAITALL) != (ssize_t)len, "recv");
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void
hear_text(int fd, const char *text)
{
	char heard[128];
	size_t len = strlen(text);

	hear(fd, heard, len);
	house_must(memcmp(heard, text, len) != 0, "an answer");
}

static void
peer_set(const struct peer *peer, size_t key, const char *buf, size_t len)
{
	char text[128];

	snprintf(text, sizeof(text), peer->store, key, len);
	say(peer->fd, text, strlen(text));
	say(peer->fd, buf, len);
	say(peer->fd, "\r\n", 2);
	hear_text(peer->fd, peer->stored);
}

static void
peer_get(const struct peer *peer, size_t key, char *buf, size_t len)
{
	char text[128];

	snprintf(text, sizeof(text), peer->question, key, len);
	say(peer->fd, text, strlen(text));
	snprintf(text, sizeof(text), peer->head, key, len);
	hear_text(peer->fd, text);
	hear(peer->fd, buf, len);
	hear_text(peer->fd, peer->tail);
}

static double
leg_theirs(const struct peer *peer, char *buf, size_t len)
{
	double began = house_now_s();

	for (size_t i = 0; i < BYTES_A_LEG / len; i++)
		peer_get(peer, 10 + i % N_KEYS, buf, len);
	return house_now_s() - began;
}

static double
leg_ours(struct tiffin_client *client, char *buf, size_t len)
{
	double began = house_now_s();
	char key[32];

	for (size_t i = 0; i < BYTES_A_LEG / len; i++) {
		snprintf(key, sizeof(key), "object-%zu", 10 + i % N_KEYS);
		ring_get_one(client, key, buf, len);
	}
	return house_now_s() - began;
}

static void
compare(const struct peer *peer, size_t len, int n_pairs)
{
	struct house house;
	struct tiffin_client *client;
	struct legs legs = {0};
	char *buf = rival_warm(len);
	double bytes = (double)(BYTES_A_LEG / len * len) * n_pairs;
	char key[32];

	house_open(&house, "512MiB", "tcp");
	client = house_client(&house);
	for (size_t i = 10; i < 10 + N_KEYS; i++) {
		snprintf(key, sizeof(key), "object-%zu", i);
		ring_put_one(client, key, buf, len);
		peer_set(peer, i, buf, len);
	}
	for (int i = 0; i < n_pairs; i++) {
		double ours = leg_ours(client, buf, len);

		legs_note(&legs, i, ours, leg_theirs(peer, buf, len), ours);
	}
	printf("name=get_peers peer=%s kib=%zu gb_per_s=%.2f peer_gb_per_s=%.2f ratio=%.3f\n",
	       peer->name, len >> 10, bytes / legs.our_s / 1e9, bytes / legs.their_s / 1e9,
	       house_median(legs.ratio, (size_t)n_pairs));
	tiffin_close(client);
	house_close(&house);
	munmap(buf, len);
}

int
main(int argc, char **argv)
{
	int n_pairs = argc > 1 ? 3 : N_PAIRS; /* any word: short */

	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		struct peer peer = peers[i];

		if (!peer_open(&peer)) {
			printf("name=get_peers peer=%s skipped: it is not installed\n", peer.name);
			continue;
		}
		compare(&peer, 64u << 10, n_pairs);
		compare(&peer, 1 * MIB, n_pairs);
		peer_close(&peer);
	}
	return 0;
}
