/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve_map.c -- here is the memory: to readers read-only, to our own user for writing.
 *
 * A writable mapping can't be taken back.  Its holder is written down in the
 * segment's first page before the descriptor leaves, and a pidfd tells when the
 * process is gone; until then every fence of its client answers "alive".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/proc.h"
#include "transfer/base/sock.h"
#include "transfer/lent_header.h"
#include "transfer/serve_conn.h"

/* One process, one segment, one client. */
struct grant {
	struct list_link at;
	struct lent *lent;
	struct lent_writer *writer; /* its line in the segment's first page */
	int pidfd;
	bool is_told; /* the fence word was raised because of it */
};

/* ---- processes ---- */

static bool
is_dead(int pidfd)
{
	struct pollfd pollfd = {.fd = pidfd, .events = POLLIN};

	return poll(&pollfd, 1, 0) > 0;
}

/* open_pidfd -- of the process that was started then; -1: it is gone. */
static int
open_pidfd(pid_t pid, uint64_t start_ticks)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0 && proc_start_ticks(pid) != start_ticks)
		fd_close_at(&fd);
	return fd;
}

/* ---- grants ---- */

static void
grant_free(struct grant *grant)
{
	list_remove(&grant->at);
	fd_close_at(&grant->pidfd);
	free(grant);
}

static void
forget_dead(struct serve *serve)
{
	list_each_safe(&serve->grants, link) {
		struct grant *grant = list_of(link, struct grant, at);

		if (!is_dead(grant->pidfd))
			continue;
		*grant->writer = (struct lent_writer){0};
		grant_free(grant);
	}
}

/* grant_new -- takes pidfd also when it fails. */
static int
grant_new(struct serve *serve, struct lent *lent, struct lent_writer *writer, int pidfd)
{
	struct grant *grant = calloc(1, sizeof(*grant));

	if (grant == NULL) {
		close(pidfd);
		return err_new(-ENOMEM);
	}
	*grant = (struct grant){.lent = lent, .writer = writer, .pidfd = pidfd};
	list_link_init(&grant->at);
	list_push_back(&serve->grants, &grant->at);
	return 0;
}

static bool
is_granted(struct serve *serve, const struct lent *lent, const struct lent_writer *who)
{
	list_each(&serve->grants, link) {
		struct grant *grant = list_of(link, struct grant, at);

		if (grant->lent == lent && memcmp(grant->writer, who, sizeof(*who)) == 0)
			return true;
	}
	return false;
}

/* write_down -- before the descriptor leaves.  false: no room, or the process is gone. */
static bool
write_down(struct serve_conn *conn, struct lent *lent)
{
	struct lent_writer who = {
		.client_id = conn->client_id,
		.start_ticks = proc_start_ticks(conn->pid),
		.pid = (uint32_t)conn->pid,
	};
	struct lent_writer *free_line = NULL;
	int pidfd;

	assert(lock_held(&conn->serve->lock));

	forget_dead(conn->serve);
	if (who.start_ticks == 0)
		return false;
	if (is_granted(conn->serve, lent, &who))
		return true;
	for (size_t i = 0; i < LENT_WRITERS_MAX && free_line == NULL; i++)
		if (lent->header->writers[i].client_id == 0)
			free_line = &lent->header->writers[i];
	if (free_line == NULL)
		return false;

	pidfd = open_pidfd(conn->pid, who.start_ticks);
	if (pidfd < 0)
		return false;
	if (grant_new(conn->serve, lent, free_line, pidfd) < 0)
		return false;
	*free_line = who;
	return true;
}

int
serve_grants_adopt(struct serve *serve, struct lent *lent)
{
	assert(lock_held(&serve->lock));

	for (size_t i = 0; i < LENT_WRITERS_MAX; i++) {
		struct lent_writer *writer = &lent->header->writers[i];
		int pidfd, r;

		if (writer->client_id == 0)
			continue;
		pidfd = open_pidfd((pid_t)writer->pid, writer->start_ticks);
		if (pidfd < 0) {
			*writer = (struct lent_writer){0};
			continue;
		}
		r = grant_new(serve, lent, writer, pidfd);
		if (r < 0)
			return err_up(r);
	}
	return 0;
}

void
serve_grants_forget(struct serve *serve, const struct lent *lent)
{
	assert(lock_held(&serve->lock));

	list_each_safe(&serve->grants, link) {
		struct grant *grant = list_of(link, struct grant, at);

		if (lent == NULL || grant->lent == lent)
			grant_free(grant);
	}
}

int
serve_grants_writers(struct serve *serve, const struct lent *lent, uint64_t *ret_clients,
		     size_t cap, size_t *ret_n)
{
	size_t n = 0;

	assert(lock_held(&serve->lock));

	forget_dead(serve);
	list_each(&serve->grants, link) {
		const struct grant *grant = list_of(link, struct grant, at);
		bool is_told = false;

		if (grant->lent != lent)
			continue;
		for (size_t i = 0; i < n && !is_told; i++)
			is_told = ret_clients[i] == grant->writer->client_id;
		if (is_told)
			continue;
		if (n == cap)
			return err_new(-EOVERFLOW);
		ret_clients[n++] = grant->writer->client_id;
	}
	*ret_n = n;
	return 0;
}

bool
serve_grants_fence(struct serve *serve, uint64_t client_id)
{
	bool all_dead = true;

	assert(lock_held(&serve->lock));

	forget_dead(serve);
	list_each(&serve->grants, link) {
		struct grant *grant = list_of(link, struct grant, at);

		if (grant->writer->client_id != client_id)
			continue;
		all_dead = false;
		if (!grant->is_told)
			lent_fence(grant->lent);
		grant->is_told = true;
	}
	return all_dead;
}

/* ---- handing it out ---- */

static bool
may_write_here(const struct serve_conn *conn)
{
	return conn->pid > 0 && (conn->uid == geteuid() || conn->uid == 0);
}

static enum wire_status
grant_writing(struct serve_conn *conn, const struct wire_request *request, struct lent *lent,
	      uint64_t *ret_fence)
{
	struct serve *serve = conn->serve;
	enum wire_status status = WIRE_DONE;

	if (!may_write_here(conn))
		return WIRE_CANT;

	/* In one step, so that a fence sees either the grant or nobody. */
	lock_take(&serve->lock);
	if (serve_is_fenced(serve, &request->token))
		status = WIRE_REFUSED;
	else if (!write_down(conn, lent))
		status = WIRE_CANT;
	*ret_fence = atomic_load(&lent->header->fence);
	lock_drop(&serve->lock);
	return status;
}

/* hand_out -- what may be handed out: a descriptor beside the answer. */
static enum wire_status
hand_out(struct serve_conn *conn, const struct wire_request *request, struct wire_reply *reply,
	 int *ret_fd)
{
	struct lent *lent = conn->touching->lent;
	bool is_writable = (request->flags & WIRE_WRITABLE) != 0;
	enum wire_status status = WIRE_DONE;
	struct stat st;

	if (!conn->is_unix || fstat(lent->fd, &st) < 0)
		return WIRE_CANT;
	if (is_writable && lent->disk != NULL)
		return WIRE_CANT; /* nobody else writes there */
	if (is_writable)
		status = grant_writing(conn, request, lent, &reply->fence);
	if (status == WIRE_DONE && lent_reopen(lent, is_writable, ret_fd) < 0)
		status = WIRE_CANT;
	reply->file_bytes = status == WIRE_DONE ? (uint64_t)st.st_size : 0;
	return status;
}

bool
serve_map(struct serve_conn *conn, const struct wire_request *request)
{
	struct wire_reply reply = {.kind = WIRE_MAP, .id = request->id};
	uint8_t bytes[WIRE_REPLY_BYTES];
	cleanup_with(fd_close_at) int fd = -1;

	reply.status = hand_out(conn, request, &reply, &fd);
	wire_reply_encode(&reply, bytes);
	return sock_send_fd(conn->fd, bytes, sizeof(bytes), fd) == 0;
}
