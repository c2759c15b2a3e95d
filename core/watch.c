/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A watch has a connection, a client id and a thread of its own, so that changes never wait for
 * answers, nor answers for whoever looks at changes.
 *
 *      CUT OFF --connect, greet, watch, ping--> LISTENING --lost--> CUT OFF
 *         from the position that was reached: the master tells what was missed, or, when it does
 * not know any more: "look at everything anew"
 *
 * The ping's answer proves that the watch is in force, for the master takes the requests of a
 * connection in their order.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/ask.h"
#include "core/greet.h"
#include "core/statuses.h"
#include "core/thread.h"
#include "core/why.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

#define WATCH_MAGIC    0x74777463u
#define FRAME_MS       10000 /* a frame that has begun is there by then */
#define LEAVE_MS       1000  /* so long a close waits for the master at most */
#define BACKOFF_MIN_MS 20
#define BACKOFF_MAX_MS 200

struct tiffin_watch {
	unsigned magic;
	struct tiffin_client *client;
	struct greet_config config; /* its name is ours */
	char prefix[TIFFIN_KEY_MAX + 1];
	void (*fn)(void *arg, int change, const char *key, uint64_t object_id);
	void *arg;
	pthread_t thread;
	bool has_thread;
	int wake_fd; /* eventfd: readable once it is to end */

	struct lock lock;                /* LOCK_core_watch: what follows */
	struct tiffin_position position; /* epoch 0: none yet */

	/* the thread's own */
	int fd;
	uint64_t next_id, watch_id;
	uint64_t pinged_ns;
	struct link_session session;
	struct buf payload, frame, in;
	struct arena arena;
};

/* is_woken -- wait for the end of the watch, for so long at most. */
static bool
is_woken(struct tiffin_watch *watch, uint64_t wait_ms)
{
	struct pollfd p = {.fd = watch->wake_fd, .events = POLLIN};

	return poll(&p, 1, (int)wait_ms) > 0;
}

/* send_frame -- the encoded payload. */
static int
send_frame(struct tiffin_watch *watch, uint16_t type, uint64_t id, uint64_t until_ns)
{
	int r;

	buf_clear(&watch->frame);
	r = greet_frame(&watch->frame, type, id, &watch->payload);
	if (r < 0)
		return err_up(r);
	r = sock_send_all(watch->fd, buf_first(&watch->frame), buf_len(&watch->frame), until_ns);
	return r > 0 ? LINK_E_LOST : r;
}

static int
send_watch(struct tiffin_watch *watch, uint64_t until_ns)
{
	const struct msg_watch msg = {
		.prefix = span_of(watch->prefix, strlen(watch->prefix)),
		.after_epoch = watch->position.epoch,
		.after_number = watch->position.number,
	};

	buf_clear(&watch->payload);
	if (msg_watch_encode(&watch->payload, &msg) != 0)
		return err_new(-ENOMEM);
	watch->watch_id = watch->next_id++;
	return send_frame(watch, MSG_watch, watch->watch_id, until_ns);
}

static int
send_ping(struct tiffin_watch *watch, uint64_t until_ns)
{
	const struct msg_ping msg = {.now_ms = clock_ms(clock_real()),
				     .quiet_epoch = watch->session.master_epoch};

	watch->pinged_ns = clock_ns(clock_real());
	buf_clear(&watch->payload);
	if (msg_ping_encode(&watch->payload, &msg) != 0)
		return err_new(-ENOMEM);
	return send_frame(watch, MSG_ping, watch->next_id++, until_ns);
}

static void
reach(struct tiffin_watch *watch, uint64_t number)
{
	lock_take(&watch->lock);
	watch->position = (struct tiffin_position){watch->session.master_epoch, number};
	lock_drop(&watch->lock);
}

static void
tell_change(struct tiffin_watch *watch, const struct rec_change *change)
{
	char key[TIFFIN_KEY_MAX + 1];

	memcpy(key, change->key.at, change->key.len);
	key[change->key.len] = '\0';
	reach(watch, change->number);
	watch->fn(watch->arg, change->kind, key, change->object_id);
}

/* tell -- what one frame of the watch says. */
static int
tell(struct tiffin_watch *watch, const struct frame *frame)
{
	struct rep_watch rep;

	arena_reset(&watch->arena);
	if (frame->status != STATUS_OK)
		return LINK_E_LOST;
	if (rep_watch_decode(frame->payload, &watch->arena, &rep) != 0)
		return LINK_E_LOST;
	for (uint32_t i = 0; i < rep.n_changes; i++)
		tell_change(watch, &rep.changes[i]);
	reach(watch, rep.number);
	if (rep.is_overflow != 0)
		watch->fn(watch->arg, 0, NULL, 0);
	return 0;
}

/* read_frame -- one; *ret_is_ping: it was the answer to a ping. */
static int
read_frame(struct tiffin_watch *watch, uint64_t until_ns, bool *ret_is_ping)
{
	struct frame frame;
	int r = greet_read(watch->fd, until_ns, &watch->in, &frame);

	if (r != 0)
		return r < 0 ? err_up(r) : r;
	*ret_is_ping = frame.type == MSG_ping;
	if (frame.status == STATUS_NOT_JOINED)
		return LINK_E_LOST;
	return frame.request_id == watch->watch_id ? tell(watch, &frame) : 0;
}

static void
hang_up(struct tiffin_watch *watch)
{
	fd_close_at(&watch->fd);
	watch->fd = -1;
}

/* go_up -- connect until the watch is in force.  0, link_outcome, -errno. */
static int
go_up(struct tiffin_watch *watch, uint64_t until_ns)
{
	uint64_t now = clock_ns(clock_real());
	struct sock_addr addr;
	bool is_ping = false;
	int r;

	if (sock_addr_parse(watch->client->master, &addr) != 0)
		return LINK_E_LOST;
	r = sock_connect(&addr, until_ns > now ? (until_ns - now) / NS_PER_MS : 0, &watch->fd);
	if (r != 0)
		return r < 0 ? err_up(r) : LINK_E_LOST;

	r = greet(watch->fd, &watch->config, until_ns, &watch->next_id, &watch->session);
	if (r == 0)
		r = send_watch(watch, until_ns);
	if (r == 0)
		r = send_ping(watch, until_ns);
	while (r == 0 && !is_ping)
		r = read_frame(watch, until_ns, &is_ping);
	if (r != 0)
		hang_up(watch);
	return r < 0 ? err_up(r) : r;
}

/* listen_once -- wait for a frame, or until a ping is due.  0, LINK_E_CLOSED: it is to end, else
 * lost. */
static int
listen_once(struct tiffin_watch *watch)
{
	struct pollfd polled[] = {{.fd = watch->fd, .events = POLLIN},
				  {.fd = watch->wake_fd, .events = POLLIN}};
	uint64_t ping_ms = num_max(watch->session.ping_ms, 50u);
	uint64_t now, until;
	bool is_ping;
	int r = 0;

	(void)poll(polled, array_len(polled), (int)ping_ms);
	now = clock_ns(clock_real());
	until = now + FRAME_MS * NS_PER_MS;
	if (polled[1].revents != 0)
		return LINK_E_CLOSED;
	/* due by the clock, not by silence: while much changes there is none */
	if (now - watch->pinged_ns >= ping_ms * NS_PER_MS)
		r = send_ping(watch, until);
	if (r == 0 && polled[0].revents != 0)
		r = read_frame(watch, until, &is_ping);
	return r;
}

static void *
watch_run(void *arg)
{
	struct tiffin_watch *watch = arg;
	uint64_t backoff_ms = BACKOFF_MIN_MS;
	int r = 0;

	while (r != LINK_E_CLOSED) {
		if (watch->fd >= 0) {
			r = listen_once(watch);
			if (r != 0 && r != LINK_E_CLOSED) /* else we say goodbye over it */
				hang_up(watch);
			continue;
		}
		if (is_woken(watch, backoff_ms))
			break;
		r = go_up(watch, clock_ns(clock_real()) + FRAME_MS / 10 * NS_PER_MS);
		backoff_ms =
			r == 0 ? BACKOFF_MIN_MS : num_min(2 * backoff_ms, (uint64_t)BACKOFF_MAX_MS);
	}
	return NULL;
}

/*
 * leave -- the master need not wait for our time to live to be over.
 *
 * The answer is waited for: a connection that is closed while something of the master's lies unread
 * in it is reset, and what we said last may be thrown away.
 */
static void
leave(struct tiffin_watch *watch)
{
	struct frame reply;

	if (watch->fd < 0)
		return;
	buf_clear(&watch->payload);
	buf_clear(&watch->frame);
	if (greet_frame(&watch->frame, MSG_leave, watch->next_id++, &watch->payload) < 0 ||
	    greet_exchange(watch->fd, &watch->frame, clock_ns(clock_real()) + LEAVE_MS * NS_PER_MS,
			   &watch->in, &reply) != 0)
		log_event(LOG_INFO, "watch_leave_unsaid", "client=%lu", watch->config.client_id);
}

static void
watch_free(struct tiffin_watch *watch)
{
	const uint64_t one = 1;
	ssize_t n;

	if (watch->has_thread) {
		do {
			n = write(watch->wake_fd, &one, sizeof(one));
		} while (n < 0 && errno == EINTR);
		if (n < 0)
			log_event(LOG_WARN, "watch_wake_failed", "errno=%d", errno);
		pthread_join(watch->thread, NULL);
	}
	leave(watch);
	hang_up(watch);
	fd_close_at(&watch->wake_fd);
	buf_fini(&watch->payload);
	buf_fini(&watch->frame);
	buf_fini(&watch->in);
	arena_fini(&watch->arena);
	free((char *)watch->config.name);
	lock_fini(&watch->lock);
	watch->magic = 0;
	free(watch);
}

/* derive -- a client id and a name of its own: a client joins but once. */
static int
derive(struct tiffin_watch *watch)
{
	struct tiffin_client *client = watch->client;
	char *name = NULL;

	if (asprintf(&name, "%.240s.watch", client->door.name) < 0)
		return why_no_memory();
	watch->config = client->door;
	watch->config.name = name;
	lock_take(&client->lock);
	watch->config.client_id = rand_id(&client->rand);
	lock_drop(&client->lock);
	return 0;
}

static int
watch_start(struct tiffin_watch *watch, uint64_t until_ns)
{
	int r;

	watch->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (watch->wake_fd < 0)
		return why_system(err_new(-errno), "watching");
	r = derive(watch);
	if (r != 0)
		return r;
	r = go_up(watch, until_ns);
	if (r < 0)
		return why_system(r, "watching");
	if (r > 0)
		return why_set(statuses_of_link(r),
			       "the master at %s can't be watched: it does "
			       "not answer, or does not let us in",
			       watch->client->master);
	r = thread_start(&watch->thread, watch_run, watch);
	if (r < 0)
		return why_system(r, "watching");
	watch->has_thread = true;
	return 0;
}

int
tiffin_watch_open(struct tiffin_client *client, const char *prefix,
		  void (*fn)(void *arg, int change, const char *key, uint64_t object_id), void *arg,
		  struct tiffin_watch **ret_watch)
{
	const struct tiffin_watch_options options = {.prefix = prefix};

	return tiffin_watch_resume(client, &options, fn, arg, ret_watch);
}

int
tiffin_watch_resume(struct tiffin_client *client, const struct tiffin_watch_options *options,
		    void (*fn)(void *arg, int change, const char *key, uint64_t object_id),
		    void *arg, struct tiffin_watch **ret_watch)
{
	const char *prefix = options->prefix;
	struct tiffin_watch *watch;
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (fn == NULL || (prefix != NULL && strlen(prefix) > TIFFIN_KEY_MAX) ||
	    client->door.name == NULL)
		return client_leave(client, why_set(TIFFIN_E_INVALID,
						    "a watch needs a function, a prefix of at "
						    "most %d bytes and a real master",
						    TIFFIN_KEY_MAX));
	watch = calloc(1, sizeof(*watch));
	if (watch == NULL)
		return client_leave(client, why_no_memory());
	watch->magic = WATCH_MAGIC;
	watch->client = client;
	watch->fn = fn;
	watch->arg = arg;
	watch->fd = watch->wake_fd = -1;
	watch->next_id = 1;
	lock_init(&watch->lock, LOCK_core_watch);
	watch->position = options->after;
	if (prefix != NULL)
		snprintf(watch->prefix, sizeof(watch->prefix), "%s", prefix);
	*ret_watch = watch; /* fn may ask for the position at once */
	r = watch_start(watch, client_until(client));
	if (r != 0) {
		*ret_watch = NULL;
		watch_free(watch);
	}
	return r == 0 ? (client_leave(client, 0), 0) : client_leave(client, r);
}

void
tiffin_watch_close(struct tiffin_watch *watch)
{
	if (watch != NULL && watch->magic == WATCH_MAGIC)
		watch_free(watch);
}

void
tiffin_watch_position(struct tiffin_watch *watch, struct tiffin_position *ret_position)
{
	lock_take(&watch->lock);
	*ret_position = watch->position;
	lock_drop(&watch->lock);
}
