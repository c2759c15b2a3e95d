/* SPDX-License-Identifier: Apache-2.0 */

/* The files of .tiffin: what each tells, by the names that `tiffin --json` uses. */
#include "fs/control.h"
#include "fs/errno.h"
#include "fs/passthrough.h"

/* ---- one record ---- */

static const char *
source_of(const struct fs *fs)
{
	return fs->opts->source[0] != '\0' ? fs->opts->source : tiffin_master_default();
}

/* tell_reading -- whether the kernel reads without us, and from how much memory. */
static void
tell_reading(struct fs *fs, struct fs_tell *tell)
{
	struct fs_arena_limits limits;
	struct fs_arena_counts counts;
	const char *why_not = fs_pass_tell(fs, &limits, &counts);

	fs_tell_bool(tell, "passthrough", why_not == NULL);
	fs_tell_text(tell, "passthrough_why_not", why_not != NULL ? why_not : "");
	fs_tell_u64(tell, "arena_bytes", limits.size_bytes);
	fs_tell_u64(tell, "arena_used_bytes", counts.used_bytes);
	fs_tell_u64(tell, "arena_files", counts.n_slots);
	fs_tell_u64(tell, "arena_fills", counts.n_fills);
	fs_tell_u64(tell, "arena_hits", counts.n_hits);
	fs_tell_u64(tell, "arena_refused", counts.n_refused);
}

static int
tell_status(struct fs *fs, struct fs_tell *tell)
{
	struct tiffin_space space;
	int r = fs_errno(tiffin_space(fs->client, &space));

	if (r < 0)
		return r;
	fs_tell_text(tell, "master", source_of(fs));
	fs_tell_key(tell, "prefix", fs->root_key);
	fs_tell_text(tell, "mounted_on", fs->opts->dir);
	fs_tell_u64(tell, "mounted_at_ms", fs->started_ms);
	fs_tell_u64(tell, "n_inodes", fs_nodes_count(&fs->nodes));
	fs_tell_u64(tell, "size_bytes", space.size_bytes);
	fs_tell_u64(tell, "used_bytes", space.used_bytes);
	fs_tell_u64(tell, "resting_bytes", space.resting_bytes);
	fs_tell_u64(tell, "n_objects", space.n_objects);
	fs_tell_u64(tell, "n_segments", space.n_segments);
	fs_tell_u64(tell, "n_clients", space.n_clients);
	fs_tell_u64(tell, "tenant_bytes", space.tenant_bytes);
	fs_tell_u64(tell, "tenant_objects", space.tenant_objects);
	fs_tell_u64(tell, "quota_bytes", space.quota_bytes);
	fs_tell_u64(tell, "quota_objects", space.quota_objects);
	tell_reading(fs, tell);
	return 0;
}

static int
tell_version(struct fs *fs, struct fs_tell *tell)
{
	(void)fs;
	fs_tell_text(tell, "tiffinfs", TIFFIN_VERSION);
	fs_tell_text(tell, "libfuse", fuse_pkgversion());
	return 0;
}

static void
tell_option(void *arg, const char *name, const char *text)
{
	fs_tell_text(arg, name, text);
}

static int
tell_options(struct fs *fs, struct fs_tell *tell)
{
	fs_options_each(fs->opts, tell_option, tell);
	return 0;
}

static int
tell_count(void *arg, const struct tiffin_count *count)
{
	fs_tell_u64(arg, count->name, count->value);
	return 0;
}

static int
tell_metrics(struct fs *fs, struct fs_tell *tell)
{
	return fs_errno(tiffin_stats(fs->client, tell_count, tell));
}

static void
tell_rdma(struct fs_tell *tell, const struct tiffin_rdma_counts *rdma)
{
	fs_tell_u64(tell, "rdma_bytes_direct", rdma->bytes_direct);
	fs_tell_u64(tell, "rdma_bytes_staged", rdma->bytes_staged);
	fs_tell_u64(tell, "rdma_bytes_loaned", rdma->bytes_loaned);
	fs_tell_u64(tell, "rdma_loans", rdma->n_loans);
	fs_tell_u64(tell, "rdma_broken", rdma->n_broken);
	fs_tell_u64(tell, "rdma_passed", rdma->n_passed);
}

static int
tell_transfers(struct fs *fs, struct fs_tell *tell)
{
	struct tiffin_retries retries = {.struct_bytes = sizeof(retries)};
	struct tiffin_rdma_counts rdma = {.struct_bytes = sizeof(rdma)};
	struct tiffin_hot_cache hot;
	int r = tiffin_retries(fs->client, &retries);

	if (r == 0)
		r = tiffin_rdma_counts(fs->client, &rdma);
	if (r == 0)
		r = tiffin_hot_cache(fs->client, &hot);
	if (r < 0)
		return fs_errno(r);
	fs_tell_u64(tell, "other_copy", retries.n_other_copy);
	fs_tell_u64(tell, "other_look", retries.n_other_look);
	fs_tell_u64(tell, "hot_cache_bytes", hot.len_bytes);
	fs_tell_u64(tell, "hot_cache_hits", hot.n_hits);
	fs_tell_u64(tell, "hot_cache_hit_bytes", hot.hit_bytes);
	fs_tell_u64(tell, "hot_cache_misses", hot.n_misses);
	fs_tell_u64(tell, "hot_cache_kept", hot.n_kept);
	tell_rdma(tell, &rdma);
	return 0;
}

/* ---- many ---- */

static int
tell_path(void *arg, const struct tiffin_path *path)
{
	struct fs_tell *tell = arg;

	fs_tell_record(tell);
	fs_tell_text(tell, "peer", path->peer);
	fs_tell_text(tell, "host", path->host);
	fs_tell_text(tell, "transport", path->transport);
	fs_tell_text(tell, "address", path->address);
	fs_tell_u64(tell, "reads", path->n_reads);
	fs_tell_u64(tell, "read_bytes", path->read_bytes);
	fs_tell_u64(tell, "writes", path->n_writes);
	fs_tell_u64(tell, "write_bytes", path->write_bytes);
	fs_tell_u64(tell, "lost", path->n_lost);
	fs_tell_u64(tell, "timeout", path->n_timeout);
	fs_tell_u64(tell, "refused", path->n_refused);
	fs_tell_u64(tell, "failed", path->n_failed);
	fs_tell_u64(tell, "moved", path->n_moved);
	fs_tell_u64(tell, "mean_us", path->mean_ns / 1000);
	fs_tell_u64(tell, "p50_us", path->p50_ns / 1000);
	fs_tell_u64(tell, "p99_us", path->p99_ns / 1000);
	fs_tell_record_end(tell);
	return 0;
}

static int
tell_paths(struct fs *fs, struct fs_tell *tell)
{
	return fs_errno(tiffin_paths(fs->client, tell_path, tell));
}

static int
tell_segment(void *arg, const struct tiffin_segment *segment)
{
	struct fs_tell *tell = arg;

	fs_tell_record(tell);
	fs_tell_text(tell, "name", segment->name);
	fs_tell_text(tell, "state", segment->state);
	fs_tell_text(tell, "medium", segment->medium);
	fs_tell_text(tell, "host", segment->host);
	fs_tell_text(tell, "endpoint", segment->endpoint);
	fs_tell_u64(tell, "size_bytes", segment->size_bytes);
	fs_tell_u64(tell, "used_bytes", segment->used_bytes);
	fs_tell_u64(tell, "resting_bytes", segment->resting_bytes);
	fs_tell_u64(tell, "hole_bytes", segment->hole_bytes);
	fs_tell_id(tell, "segment_id", segment->segment_id);
	fs_tell_id(tell, "epoch", segment->epoch);
	fs_tell_id(tell, "client_id", segment->client_id);
	fs_tell_record_end(tell);
	return 0;
}

static int
tell_segments(struct fs *fs, struct fs_tell *tell)
{
	return fs_errno(tiffin_segments(fs->client, tell_segment, tell));
}

static int
tell_client(void *arg, const struct tiffin_client_state *state)
{
	struct fs_tell *tell = arg;

	fs_tell_record(tell);
	fs_tell_text(tell, "name", state->name);
	fs_tell_text(tell, "state", state->state);
	fs_tell_text(tell, "host", state->host);
	fs_tell_u64(tell, "silent_ms", state->silent_ms);
	fs_tell_u64(tell, "n_segments", state->n_segments);
	fs_tell_u64(tell, "n_puts", state->n_puts);
	fs_tell_id(tell, "client_id", state->client_id);
	fs_tell_record_end(tell);
	return 0;
}

static int
tell_clients(struct fs *fs, struct fs_tell *tell)
{
	return fs_errno(tiffin_clients(fs->client, tell_client, tell));
}

static int
tell_tenant(void *arg, const struct tiffin_tenant *tenant)
{
	struct fs_tell *tell = arg;

	fs_tell_record(tell);
	fs_tell_text(tell, "name", tenant->name);
	fs_tell_u64(tell, "quota_bytes", tenant->quota_bytes);
	fs_tell_u64(tell, "quota_objects", tenant->quota_objects);
	fs_tell_u64(tell, "charged_bytes", tenant->charged_bytes);
	fs_tell_u64(tell, "resting_bytes", tenant->resting_bytes);
	fs_tell_u64(tell, "object_bytes", tenant->object_bytes);
	fs_tell_u64(tell, "n_objects", tenant->n_objects);
	fs_tell_u64(tell, "n_puts", tenant->n_puts);
	fs_tell_u64(tell, "n_clients", tenant->n_clients);
	fs_tell_bool(tell, "is_over_quota", tenant->is_over_quota);
	fs_tell_record_end(tell);
	return 0;
}

static int
tell_tenants(struct fs *fs, struct fs_tell *tell)
{
	return fs_errno(tiffin_tenant_list(fs->client, tell_tenant, tell));
}

static int
tell_put(void *arg, const struct tiffin_put_state *put)
{
	struct fs_tell *tell = arg;

	fs_tell_record(tell);
	fs_tell_id(tell, "object_id", put->object_id);
	fs_tell_id(tell, "client_id", put->client_id);
	fs_tell_u64(tell, "len_bytes", put->len_bytes);
	fs_tell_u64(tell, "age_ms", put->age_ms);
	fs_tell_u64(tell, "lease_left_ms", put->lease_left_ms);
	fs_tell_key(tell, "key", put->key);
	fs_tell_record_end(tell);
	return 0;
}

static int
tell_puts(struct fs *fs, struct fs_tell *tell)
{
	return fs_errno(tiffin_puts(fs->client, tell_put, tell));
}

static int
tell_task(void *arg, const struct tiffin_task *task)
{
	struct fs_tell *tell = arg;

	fs_tell_record(tell);
	fs_tell_id(tell, "task_id", task->task_id);
	fs_tell_id(tell, "job_id", task->job_id);
	fs_tell_text(tell, "kind", task->kind);
	fs_tell_text(tell, "state", task->state);
	fs_tell_text(tell, "reason", task->reason);
	fs_tell_u64(tell, "n_tries", task->n_tries);
	fs_tell_id(tell, "object_id", task->object_id);
	fs_tell_u64(tell, "len_bytes", task->len_bytes);
	fs_tell_id(tell, "from_segment_id", task->from_segment_id);
	fs_tell_id(tell, "to_segment_id", task->to_segment_id);
	fs_tell_id(tell, "client_id", task->client_id);
	fs_tell_u64(tell, "made_at_ms", task->made_at_ms);
	fs_tell_u64(tell, "ended_at_ms", task->ended_at_ms);
	fs_tell_key(tell, "key", task->key);
	fs_tell_record_end(tell);
	return 0;
}

static int
tell_tasks(struct fs *fs, struct fs_tell *tell)
{
	return fs_errno(tiffin_tasks(fs->client, /* job_id= */ 0, tell_task, tell));
}

const struct fs_control_entry fs_control_entries[] = {
	{"status", false, tell_status},
	{"segments", true, tell_segments},
	{"clients", true, tell_clients},
	{"tenants", true, tell_tenants},
	{"puts", true, tell_puts},
	{"tasks", true, tell_tasks},
	{"events", true, NULL},
	{"metrics", false, tell_metrics},
	{"paths", true, tell_paths},
	{"transfers", false, tell_transfers},
	{"options", false, tell_options},
	{"version", false, tell_version},
	{NULL, false, NULL},
};
