/* SPDX-License-Identifier: Apache-2.0 */

/* mount_disk.c -- the file or device that is to be lent, and what stands in the way. */
#include <stdio.h>

#include "core/ask.h"
#include "core/mount.h"
#include "core/why.h"
#include "transfer/base/clock.h"
#include "transfer/base/log.h"
#include "transfer/disk.h"
#include "transfer/nvme_connect.h"

#define SCAN_MS       30000 /* a target may have many namespaces */
#define SCAN_PAUSE_MS 20

/* ---- a namespace ------------------------------------------------------------------------- */

/* connect_to -- have the kernel do it.  0 or TIFFIN_E_*. */
static int
connect_to(const struct tiffin_mount_options *options)
{
	const char *nqn = options->nof, *text = options->nof_connect;
	struct nvme_where where;
	int e = 0, r;

	if (!nvme_where_parse(text, &where))
		return why_set(TIFFIN_E_INVALID,
			       "nof_connect: \"%.*s\" is neither tcp:HOST:PORT nor rdma:HOST:PORT",
			       NVME_WHERE_MAX, text);
	r = nvme_connect(nqn, &where, &e);
	switch (r) {
	case 0:
		return 0;
	case NVME_CONNECT_E_NOT_BUILT:
		return why_set(
			TIFFIN_E_DENIED,
			"%s: not connected, and this program was built without libnvme: nvme "
			"connect -t %s -a %s -s %s -n NQN",
			nqn, where.transport, where.address, where.port);
	case NVME_CONNECT_E_NO_MODULE:
		return why_set(
			TIFFIN_E_DENIED,
			"%s: not connected, and the kernel has no /dev/nvme-fabrics: modprobe "
			"nvme-%s",
			nqn, where.transport);
	case NVME_CONNECT_E_NOT_ALLOWED:
		return why_set(TIFFIN_E_DENIED,
			       "%s: not connected, and this user may not connect "
			       "(/dev/nvme-fabrics): only root may",
			       nqn);
	case NVME_CONNECT_E_REFUSED:
		return why_set(TIFFIN_E_UNREACHABLE, "%s: connecting to %s failed: %s", nqn, text,
			       nvme_connect_why(e));
	default:
		return why_system(r, nqn);
	}
}

/* find -- and connect, when it is not there and it is known where to. */
static int
find(const struct tiffin_mount_options *options, struct nvme_namespace *ret_found, int *ret_why)
{
	const char *this_machine = "";
	uint64_t until_ms = clock_ms(clock_real()) + SCAN_MS;
	int r = nvme_find(this_machine, options->nof, options->nof_nsid, ret_found);

	if (r != NVME_E_NO_SUBSYSTEM || options->nof_connect == NULL)
		return r;
	*ret_why = connect_to(options);
	if (*ret_why != 0)
		return r;
	/* Its namespaces come up one by one, after it. */
	while ((r = nvme_find(this_machine, options->nof, options->nof_nsid, ret_found)) != 0 &&
	       clock_ms(clock_real()) < until_ms)
		clock_sleep_ms(clock_real(), SCAN_PAUSE_MS);
	return r;
}

int
mount_find_device(const struct tiffin_mount_options *options, char ret_path[MOUNT_DEVICE_MAX + 1],
		  uint32_t *ret_rest_ms)
{
	const char *nqn = options->nof;
	struct nvme_namespace found;
	int r, why = 0;

	if (!nvme_nqn_is_good(nqn))
		return why_set(TIFFIN_E_INVALID, "nof: \"%.*s\" is no NQN", NVME_NQN_MAX, nqn);
	r = find(options, &found, &why);
	if (why != 0)
		return why;
	switch (r) {
	case 0:
		snprintf(ret_path, MOUNT_DEVICE_MAX + 1, "/dev/%s", found.device);
		*ret_rest_ms = NVME_REST_MS(found.kato_ms);
		return 0;
	case NVME_E_NO_SUBSYSTEM:
		return why_set(
			TIFFIN_E_NOT_FOUND,
			"%s: this machine is not connected to it; nvme connect -n NQN ..., or "
			"nof_connect",
			nqn);
	case NVME_E_NO_NAMESPACE:
		return why_set(TIFFIN_E_NOT_FOUND, "%s: has no namespace %u", nqn,
			       options->nof_nsid);
	case NVME_E_SEVERAL:
		return why_set(TIFFIN_E_INVALID, "%s: has several namespaces; say which (nof_nsid)",
			       nqn);
	case NVME_E_NOT_LIVE:
		return why_set(TIFFIN_E_UNREACHABLE,
			       "%s: its device %s is there, but none of its %u ways is open", nqn,
			       found.device, found.n_paths);
	default:
		return why_system(r, nqn);
	}
}

int
mount_why_lent(const struct tiffin_mount_options *options, int r)
{
	const char *path = options->path != NULL   ? options->path
			   : options->file != NULL ? options->file
			   : options->nof != NULL  ? options->nof
						   : "(anonymous)";

	if (r < 0)
		return why_system(r, path);
	if (r == LENT_E_IN_USE)
		return why_set(TIFFIN_E_BUSY, "%s: another process lends this memory", path);
	if (r == LENT_E_NOT_DIRECT)
		return why_set(
			TIFFIN_E_INVALID,
			"%s: no O_DIRECT there; a file on a disk is needed, or a block device",
			path);
	if (r == LENT_E_NO_URING)
		return why_set(
			TIFFIN_E_DENIED,
			"%s: the machine does not allow io_uring (kernel.io_uring_disabled, or "
			"a filter of the container)",
			path);
	if (r == LENT_E_DAMAGED)
		return why_set(TIFFIN_E_CHECKSUM,
			       "%s: is no segment of %lu bytes; give its size, or wipe it (its "
			       "contents are lost then)",
			       path, options->size_bytes);
	return why_set(TIFFIN_E_NO_SPACE, "%s: there is no room for %lu bytes", path,
		       options->size_bytes);
}

/* ---- a disk that fails ------------------------------------------------------------------- */

/* take_failing -- the id of one that the master has not heard of; 0: there is none. */
static uint64_t
take_failing(struct tiffin_client *client)
{
	uint64_t id = 0;

	lock_take(&client->lock);
	list_each(&client->mounts, at) {
		struct mount *mount = list_of(at, struct mount, at);
		const struct disk *disk = mount->lent->disk;

		if (disk == NULL || mount->is_drained || !atomic_load(&disk->is_failing))
			continue;
		mount->is_drained = true;
		id = mount->lent->segment_id;
		break;
	}
	lock_drop(&client->lock);
	return id;
}

/* give_back -- tried again at the next tick. */
static void
give_back(struct tiffin_client *client, uint64_t segment_id)
{
	lock_take(&client->lock);
	list_each(&client->mounts, at) {
		struct mount *mount = list_of(at, struct mount, at);

		if (mount->lent->segment_id == segment_id)
			mount->is_drained = false;
	}
	lock_drop(&client->lock);
}

static int
ask_drain(struct tiffin_client *client, uint64_t segment_id)
{
	struct rec_id id = {segment_id};
	const struct msg_drain msg = {.n_segments = 1, .segments = &id};
	cleanup_with(ask_fini) struct ask ask;

	ask_init(&ask, client);
	return ask_call(&ask, MSG_drain, msg_drain_encode(&ask.payload, &msg),
			client_tick_until(client));
}

void
mount_failing(struct tiffin_client *client)
{
	uint64_t segment_id = take_failing(client);
	int r;

	if (segment_id == 0)
		return;
	r = ask_drain(client, segment_id);
	log_event(LOG_ERROR, "segment_failing",
		  "segment=%lu what=\"its disk refused a write: it is drained\" told=\"%s\"",
		  segment_id, r == 0 ? "yes" : tiffin_why());
	if (r == TIFFIN_E_UNREACHABLE || r == TIFFIN_E_TIMEOUT)
		give_back(client, segment_id);
}
