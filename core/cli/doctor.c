/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/cli/daemon.h"
#include "core/cli/memory.h"
#include "transfer/base/home.h"
#include "transfer/base/num.h"
#include "transfer/rdma_device.h"
#include "transfer/sysfs.h"

#define MIB (1ull << 20)

static void conclude(struct doctor_finding *finding, enum doctor_level level, const char *cure,
		     const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void
conclude(struct doctor_finding *finding, enum doctor_level level, const char *cure, const char *fmt,
	 ...)
{
	va_list ap;

	finding->level = level;
	snprintf(finding->cure, sizeof(finding->cure), "%s", cure);
	va_start(ap, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, ap);
	va_end(ap);
}

static void
look_kernel(struct cli *cli, struct doctor_finding *finding)
{
	struct utsname name;
	int major = 0, minor = 0;

	(void)cli;
	if (uname(&name) < 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		conclude(finding, DOCTOR_WARN, "", "version not known");
	else if (major < 5 || (major == 5 && minor < 4))
		conclude(finding, DOCTOR_BAD, "use Linux 5.4 or later", "%s is too old",
			 name.release);
	else
		conclude(finding, DOCTOR_OK, "", "Linux %s, tiffin %s", name.release,
			 TIFFIN_VERSION);
}

static void
look_fuse(struct cli *cli, struct doctor_finding *finding)
{
	(void)cli;
	if (access("/dev/fuse", F_OK) < 0)
		conclude(finding, DOCTOR_WARN,
			 "modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN",
			 "/dev/fuse is missing: no mounts here");
	else if (access("/dev/fuse", R_OK | W_OK) < 0)
		conclude(finding, DOCTOR_WARN, "chmod 666 /dev/fuse",
			 "/dev/fuse may not be opened by this user: no mounts");
	else
		conclude(finding, DOCTOR_OK, "", "/dev/fuse can be opened");
}

static void
look_fusermount(struct cli *cli, struct doctor_finding *finding)
{
	char path[PATH_MAX];
	struct stat st;

	(void)cli;
	if (program_find("fusermount3", path) != 0)
		conclude(finding, DOCTOR_WARN, "apt install fuse3", "missing: no mounts");
	else if (geteuid() != 0 && (stat(path, &st) < 0 || (st.st_mode & S_ISUID) == 0))
		conclude(finding, DOCTOR_WARN, "apt install --reinstall fuse3",
			 "%s is not setuid: only root can mount", path);
	else
		conclude(finding, DOCTOR_OK, "", "%s", path);
}

static void
look_memory(struct cli *cli, struct doctor_finding *finding)
{
	uint64_t bytes = memory_free_bytes();
	char text[32];

	(void)cli;
	num_show_bytes(text, sizeof(text), bytes);
	if (bytes == 0)
		conclude(finding, DOCTOR_WARN, "", "free memory is not known");
	else if (bytes < 256 * MIB)
		conclude(finding, DOCTOR_WARN, "lend less: tiffin up --size 64MiB", "%s free",
			 text);
	else
		conclude(finding, DOCTOR_OK, "", "%s free", text);
}

static void
look_memlock(struct cli *cli, struct doctor_finding *finding)
{
	struct rlimit limit;
	char text[32] = "unlimited";

	(void)cli;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0) {
		conclude(finding, DOCTOR_WARN, "", "%s", strerror(errno));
		return;
	}
	if (limit.rlim_cur != RLIM_INFINITY)
		num_show_bytes(text, sizeof(text), limit.rlim_cur);
	if (limit.rlim_cur < 64 * MIB)
		conclude(finding, DOCTOR_WARN,
			 "ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit",
			 "%s may be pinned: too little for RDMA", text);
	else
		conclude(finding, DOCTOR_OK, "", "%s may be pinned", text);
}

static void
look_files(struct cli *cli, struct doctor_finding *finding)
{
	struct rlimit limit;

	(void)cli;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		conclude(finding, DOCTOR_WARN, "", "%s", strerror(errno));
	else if (limit.rlim_cur < 1024)
		conclude(finding, DOCTOR_WARN, "ulimit -n 65536, or LimitNOFILE=65536 in the unit",
			 "%ju descriptors", (uintmax_t)limit.rlim_cur);
	else
		conclude(finding, DOCTOR_OK, "", "%ju descriptors", (uintmax_t)limit.rlim_cur);
}

static void
look_shm(struct cli *cli, struct doctor_finding *finding)
{
	struct statvfs fs;
	uint64_t bytes;
	char text[32];

	(void)cli;
	if (statvfs("/dev/shm", &fs) < 0) {
		conclude(finding, DOCTOR_WARN, "mount -t tmpfs tmpfs /dev/shm", "/dev/shm: %s",
			 strerror(errno));
		return;
	}
	bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	num_show_bytes(text, sizeof(text), bytes);
	if (bytes < 256 * MIB)
		conclude(finding, DOCTOR_WARN,
			 "mount -o remount,size=50% /dev/shm; in a container: --shm-size",
			 "%s free: little room for segments in named files", text);
	else
		conclude(finding, DOCTOR_OK, "", "%s free", text);
}

static void
look_huge_pages(struct cli *cli, struct doctor_finding *finding)
{
	uint64_t n_free = 0;
	char line[256];

	(void)cli;
	sysfs_line("", line, sizeof(line), "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	if (memory_field("HugePages_Free", &n_free) && n_free > 0)
		conclude(finding, DOCTOR_OK, "", "%" PRIu64 " of 2 MiB are free", n_free);
	else if (line[0] == '\0' || strstr(line, "[never]") != NULL ||
		 strstr(line, "[deny]") != NULL)
		conclude(finding, DOCTOR_WARN,
			 "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled",
			 "none for shared memory: segments use pages of 4 KiB and are slower");
	else
		conclude(finding, DOCTOR_OK, "", "shared memory may use them");
}

/* look_uring -- providers that lend room on a disk, and clients that read there, need it. */
static void
look_uring(struct cli *cli, struct doctor_finding *finding)
{
	char line[32];

	(void)cli;
	sysfs_line("", line, sizeof(line), "/proc/sys/kernel/io_uring_disabled");
	if (line[0] == '2' || (line[0] == '1' && geteuid() != 0))
		conclude(finding, DOCTOR_WARN, "sysctl kernel.io_uring_disabled=0",
			 "not allowed: segments on disks can't be lent, and are read by way of "
			 "their "
			 "providers");
	else
		conclude(finding, DOCTOR_OK, "", "allowed");
}

static void
look_congestion(struct cli *cli, struct doctor_finding *finding)
{
	char in_use[64], all[256];

	(void)cli;
	sysfs_line("", in_use, sizeof(in_use), "/proc/sys/net/ipv4/tcp_congestion_control");
	sysfs_line("", all, sizeof(all), "/proc/sys/net/ipv4/tcp_available_congestion_control");
	if (strstr(all, "cubic") != NULL || strstr(in_use, "cubic") != NULL)
		conclude(finding, DOCTOR_OK, "", "cubic is there (default here: %s)", in_use);
	else
		conclude(finding, DOCTOR_WARN, "modprobe tcp_cubic",
			 "only %s: TCP uses that, which may be slower",
			 all[0] != '\0' ? all : in_use);
}

static void
look_clock(struct cli *cli, struct doctor_finding *finding)
{
	struct timex timex = {0};

	(void)cli;
	if (adjtimex(&timex) == TIME_ERROR || (timex.status & STA_UNSYNC) != 0)
		conclude(finding, DOCTOR_WARN, "timedatectl set-ntp true",
			 "not synchronized: times that are shown may be wrong; nothing else is");
	else
		conclude(finding, DOCTOR_OK, "", "synchronized");
}

static void
look_dir(const char *path, struct doctor_finding *finding)
{
	struct statvfs fs;
	struct stat st;
	char text[32];

	if (stat(path, &st) < 0 && errno == ENOENT)
		conclude(finding, DOCTOR_OK, "", "%s: 'tiffin up' will make it", path);
	else if (lstat(path, &st) < 0)
		conclude(finding, DOCTOR_BAD, "", "%s: %s", path, strerror(errno));
	else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		conclude(finding, DOCTOR_BAD, "remove it, or give it back to you with mode 700",
			 "%s: not a directory of yours alone", path);
	else if (statvfs(path, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < 64 * MIB)
		conclude(finding, DOCTOR_BAD, "make room there", "%s: only %s free", path,
			 num_show_bytes(text, sizeof(text), (uint64_t)fs.f_bavail * fs.f_frsize));
	else
		conclude(finding, DOCTOR_OK, "", "%s", path);
}

static void
look_run(struct cli *cli, struct doctor_finding *finding)
{
	struct home home;

	(void)cli;
	home_init(&home, geteuid());
	look_dir(home.run, finding);
}

static void
look_state(struct cli *cli, struct doctor_finding *finding)
{
	struct home home;

	(void)cli;
	home_init(&home, geteuid());
	look_dir(home.state, finding);
}

static void
look_programs(struct cli *cli, struct doctor_finding *finding)
{
	static const char *const names[] = {"tiffin-master", "tiffin-provider", "tiffinfs"};
	char path[PATH_MAX];

	(void)cli;
	for (size_t i = 0; i < array_len(names); i++)
		if (program_find(names[i], path) != 0) {
			conclude(finding, i < 2 ? DOCTOR_BAD : DOCTOR_WARN,
				 "install it beside this program, or add its directory to PATH",
				 "%s is not found", names[i]);
			return;
		}
	conclude(finding, DOCTOR_OK, "", "tiffin-master, tiffin-provider and tiffinfs are found");
}

static void
look_sqlite(struct cli *cli, struct doctor_finding *finding)
{
	char path[PATH_MAX];

	(void)cli;
	if (program_find("sqlite3", path) != 0)
		conclude(finding, DOCTOR_WARN, "apt install sqlite3",
			 "missing: no 'tiffin check', no sql/admin");
	else
		conclude(finding, DOCTOR_OK, "", "%s", path);
}

static void
look_master(struct cli *cli, struct doctor_finding *finding)
{
	struct tiffin_options options = {
		.struct_bytes = sizeof(options),
		.master = cli_address(cli),
		.tenant = cli->tenant,
		.key_file = cli->key_file,
		.open_ms = 2000,
	};
	struct tiffin_space space;
	char size[32];
	int r = 0;

	if (cli->client == NULL)
		r = tiffin_open(&options, &cli->client);
	if (r == 0)
		r = tiffin_space(cli->client, &space);
	if (r == TIFFIN_E_UNREACHABLE || r == TIFFIN_E_TIMEOUT)
		conclude(finding, DOCTOR_WARN, "tiffin up, or name another one with --master",
			 "%s does not answer", cli_address(cli));
	else if (r < 0)
		conclude(finding, DOCTOR_BAD, "", "%s: %s", cli_address(cli), tiffin_why());
	else if (space.n_segments == 0)
		conclude(finding, DOCTOR_WARN, "tiffin up, or start a tiffin-provider",
			 "%s answers, but nobody lends memory", cli_address(cli));
	else
		conclude(finding, DOCTOR_OK, "", "%s answers, %u segments, %s", cli_address(cli),
			 space.n_segments, num_show_bytes(size, sizeof(size), space.size_bytes));
}

static void
look_rdma(struct cli *cli, struct doctor_finding *finding)
{
	struct rdma_device devices[16];
	char text[400] = "";
	size_t n = 0, len = 0;
	int r = rdma_device_list(devices, array_len(devices), &n);

	(void)cli;
	for (size_t i = 0; i < n && len < sizeof(text) - 1; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s%s (%u of %u ports active)", i > 0 ? ", " : "",
					devices[i].name, devices[i].n_ports_active,
					devices[i].n_ports);
	if (!rdma_is_built())
		conclude(finding, DOCTOR_OK, "", "built without it");
	else if (r < 0)
		conclude(finding, DOCTOR_WARN, "look at ibv_devinfo", "a device can't be asked: %s",
			 strerror(-r));
	else if (n == 0)
		conclude(finding, DOCTOR_OK, "", "no device: TCP and shared memory it is");
	else
		conclude(finding, DOCTOR_OK, "", "%s", text);
}

static const struct doctor_examination examinations[] = {
	{"kernel", look_kernel},
	{"programs", look_programs},
	{"run directory", look_run},
	{"state directory", look_state},
	{"memory", look_memory},
	{"pinned memory", look_memlock},
	{"descriptors", look_files},
	{"rdma", look_rdma},
	{"/dev/shm", look_shm},
	{"huge pages", look_huge_pages},
	{"io_uring", look_uring},
	{"fuse", look_fuse},
	{"fusermount3", look_fusermount},
	{"sqlite3", look_sqlite},
	{"congestion control", look_congestion},
	{"clock", look_clock},
	{"master", look_master},
};

const struct doctor_examination *
doctor_at(size_t i)
{
	return i < array_len(examinations) ? &examinations[i] : NULL;
}
