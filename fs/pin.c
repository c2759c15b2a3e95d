/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/pin.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fs/arena.h"
#include "fs/errno.h"
#include "transfer/base/crc.h"
#include "transfer/base/log.h"

int
fs_pin_open(struct tiffin_client *client, const char *key, bool is_verified,
	    struct fs_pin **ret_pin)
{
	struct fs_pin *pin = calloc(1, sizeof(*pin));
	int r;

	if (pin == NULL)
		return -ENOMEM;
	r = tiffin_view_open(client, key, &pin->view);
	if (r < 0) {
		free(pin);
		return fs_errno(r);
	}

	tiffin_view_stat(pin->view, &pin->stat);
	pin->stat.attr = NULL;
	atomic_init(&pin->n_refs, 1);
	atomic_init(&pin->is_lost, false);
	atomic_init(&pin->is_summed, !is_verified || !pin->stat.has_crc);
	lock_init(&pin->lock, LOCK_fs_pin);
	*ret_pin = pin;
	return 0;
}

struct fs_pin *
fs_pin_ref(struct fs_pin *pin)
{
	atomic_fetch_add(&pin->n_refs, 1);
	return pin;
}

void
fs_pin_unref(struct fs_pin *pin)
{
	if (pin == NULL || atomic_fetch_sub(&pin->n_refs, 1) > 1)
		return;
	tiffin_view_close(pin->view);
	fs_arena_let_go(pin->slot);
	lock_fini(&pin->lock);
	free(pin);
}

void
fs_pin_settle(struct fs_pin *pin, struct fs_slot *slot_taken)
{
	assert(pin->view != NULL && pin->slot == NULL);
	assert(slot_taken->object_id == pin->stat.object_id);

	tiffin_view_close(take(&pin->view));
	pin->slot = slot_taken;
	atomic_store(&pin->is_summed, true);
}

int
fs_pin_check(struct fs_pin *pin)
{
	if (atomic_load(&pin->is_lost))
		return -EIO;
	if (pin->slot != NULL)
		return 0;
	return fs_errno(tiffin_view_check(pin->view));
}

static int
read_slot(const struct fs_slot *slot, uint64_t offset_bytes, const struct iovec *slice,
	  uint64_t *ret_len_bytes)
{
	ssize_t n;

	if (offset_bytes >= slot->len_bytes) {
		*ret_len_bytes = 0;
		return 0;
	}
	n = pread(slot->fd, slice->iov_base, slice->iov_len, (off_t)offset_bytes);
	if (n < 0)
		return -EIO;
	*ret_len_bytes = (uint64_t)n;
	return 0;
}

int
fs_pin_read(struct fs_pin *pin, uint64_t offset_bytes, const struct iovec *slice,
	    uint64_t *ret_len_bytes)
{
	if (atomic_load(&pin->is_lost))
		return -EIO;
	if (pin->slot != NULL)
		return read_slot(pin->slot, offset_bytes, slice, ret_len_bytes);
	return fs_errno(tiffin_view_read(pin->view, offset_bytes, slice, 1, ret_len_bytes));
}

int
fs_pin_borrow(struct fs_pin *pin, uint64_t offset_bytes, uint64_t len_bytes,
	      struct iovec *ret_slices, size_t n_max, size_t *ret_n)
{
	uint64_t left = 0;
	size_t n = 0;
	int r;

	if (offset_bytes < pin->stat.len_bytes)
		left = pin->stat.len_bytes - offset_bytes;
	if (left > len_bytes)
		left = len_bytes;

	if (pin->slot != NULL)
		left = 0; /* not memory, but a file */
	while (left > 0) {
		const void *bytes;
		uint64_t run_bytes;

		r = tiffin_view_borrow(pin->view, offset_bytes, &bytes, &run_bytes);
		if (r < 0 || n == n_max || run_bytes == 0) {
			fs_pin_return(pin, n + (r == 0));
			*ret_n = 0;
			return r == TIFFIN_E_NOT_FOUND ? 0 : fs_errno(r);
		}
		run_bytes = run_bytes < left ? run_bytes : left;
		ret_slices[n++] = (struct iovec){(void *)(uintptr_t)bytes, run_bytes};
		offset_bytes += run_bytes;
		left -= run_bytes;
	}
	r = fs_pin_check(pin);
	if (r < 0) {
		fs_pin_return(pin, n);
		return r;
	}
	*ret_n = n;
	return 0;
}

void
fs_pin_return(struct fs_pin *pin, size_t n)
{
	if (n > 0)
		(void)tiffin_view_return(pin->view, n); /* else they are given back at the end */
}

/* ---- sums ---- */

/* join -- run i + 1 into run i, if they touch. */
static bool
join(struct fs_pin *pin, size_t i)
{
	struct fs_pin_run *a = &pin->runs[i], *b = &pin->runs[i + 1];

	if (i + 1 >= pin->n_runs || a->at_bytes + a->len_bytes != b->at_bytes)
		return false;
	a->crc = crc_join(a->crc, b->crc, b->len_bytes);
	a->len_bytes += b->len_bytes;
	memmove(b, b + 1, (pin->n_runs - i - 2) * sizeof(*b));
	pin->n_runs--;
	return true;
}

/* add -- a run in its place.  false: too many, or these bytes were summed already. */
static bool
add(struct fs_pin *pin, const struct fs_pin_run *run)
{
	size_t i = 0;

	if (pin->n_runs == FS_PIN_RUNS_MAX)
		return false;
	while (i < pin->n_runs && pin->runs[i].at_bytes < run->at_bytes)
		i++;
	if (i < pin->n_runs && pin->runs[i].at_bytes < run->at_bytes + run->len_bytes)
		return true;
	if (i > 0 && pin->runs[i - 1].at_bytes + pin->runs[i - 1].len_bytes > run->at_bytes)
		return true;

	memmove(&pin->runs[i + 1], &pin->runs[i], (pin->n_runs - i) * sizeof(*run));
	pin->runs[i] = *run;
	pin->n_runs++;
	join(pin, i);
	if (i > 0)
		join(pin, i - 1);
	return true;
}

int
fs_pin_sum(struct fs_pin *pin, uint64_t offset_bytes, const struct iovec *slices, size_t n_slices)
{
	struct fs_pin_run run = {.at_bytes = offset_bytes};
	bool is_wrong = false;

	if (atomic_load(&pin->is_summed))
		return 0;
	for (size_t i = 0; i < n_slices; i++) {
		run.crc = crc_of(run.crc, slices[i].iov_base, slices[i].iov_len);
		run.len_bytes += slices[i].iov_len;
	}
	if (run.len_bytes == 0)
		return 0;

	lock_take(&pin->lock);
	if (!add(pin, &run)) {
		atomic_store(&pin->is_summed, true); /* read at random: nothing can be said */
	} else if (pin->runs[0].at_bytes == 0 && pin->runs[0].len_bytes == pin->stat.len_bytes) {
		is_wrong = pin->runs[0].crc != pin->stat.crc;
		atomic_store(&pin->is_summed, true);
	}
	lock_drop(&pin->lock);

	if (!is_wrong)
		return 0;
	log_event(LOG_ERROR, "fs_bad_sum", "object=%llu len_bytes=%llu",
		  (unsigned long long)pin->stat.object_id, (unsigned long long)pin->stat.len_bytes);
	atomic_store(&pin->is_lost, true);
	return -EIO;
}
