/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/target.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/map.h"
#include "transfer/base/sock.h"

#define HOST_SEED_A 0x74696666696e2d61u
#define HOST_SEED_B 0x74696666696e2d62u

static char host[33];

bool
target_address(const struct target_desc *desc, size_t i, char *ret, size_t cap)
{
	const char *at = desc->endpoint;

	for (;; i--) {
		size_t len;

		at += strspn(at, " ");
		len = strcspn(at, " ");
		if (len == 0)
			return false;
		if (i == 0) {
			if (len >= cap)
				return false;
			memcpy(ret, at, len);
			ret[len] = '\0';
			return true;
		}
		at += len;
	}
}

bool
target_can_use(const struct target *target, const char *address)
{
	static const char *const only_here[] = {"unix:", "127.", "localhost:", "[::1]"};

	if (strncmp(address, TARGET_RDMA, strlen(TARGET_RDMA)) == 0)
		return false;
	for (size_t i = 0; i < array_len(only_here); i++)
		if (strncmp(address, only_here[i], strlen(only_here[i])) == 0)
			return target->is_same_host;
	return true;
}

/* append_file -- what the file holds, behind what is in buf; a file that is not there adds nothing.
 */
static size_t
append_file(const char *path, char *buf, size_t len, size_t cap)
{
	cleanup_with(fd_close_at) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf + len, cap - len);

	return n > 0 ? len + (size_t)n : len;
}

static void
host_find(void)
{
	char text[256];
	size_t len = 0;

	len = append_file("/etc/machine-id", text, len, 64);
	len = append_file("/proc/sys/kernel/random/boot_id", text, len, sizeof(text));
	snprintf(host, sizeof(host), "%016" PRIx64 "%016" PRIx64, map_hash(text, len, HOST_SEED_A),
		 map_hash(text, len, HOST_SEED_B));
}

const char *
host_id(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, host_find);
	return host;
}
