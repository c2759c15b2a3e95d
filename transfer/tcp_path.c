/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/tcp_path.h"

#include <string.h>

#include "transfer/base/num.h"

#define REST_NS_MIN (20 * NS_PER_MS)
#define REST_NS_MAX (1 * NS_PER_S)

bool
tcp_paths_init(struct tcp_paths *paths, const struct target *target)
{
	char text[SOCK_ADDR_TEXT_MAX];

	paths->n = 0;
	for (size_t i = 0; target_address(&target->desc, i, text, sizeof(text)); i++) {
		struct tcp_path *path = &paths->all[paths->n];

		if (!target_can_use(target, text) || paths->n == TCP_PATHS_MAX)
			continue;
		*path = (struct tcp_path){.is_unix = strncmp(text, "unix:", 5) == 0};
		memcpy(path->text, text, sizeof(text));
		paths->n++;
	}
	return paths->n > 0;
}

unsigned
tcp_paths_best(const struct tcp_paths *paths, unsigned tried, uint64_t now_ns)
{
	unsigned best = paths->n;
	uint64_t best_until_ns = UINT64_MAX;

	for (unsigned i = 0; i < paths->n; i++) {
		uint64_t until_ns = paths->all[i].rest_until_ns;

		if ((tried >> i & 1) != 0)
			continue;
		if (until_ns <= now_ns)
			until_ns = 0; /* they are all alike: the first one it is */
		if (until_ns < best_until_ns) {
			best = i;
			best_until_ns = until_ns;
		}
	}
	return best;
}

void
tcp_path_failed(struct tcp_path *path, uint64_t now_ns)
{
	path->rest_ns = num_min(num_max(2 * path->rest_ns, REST_NS_MIN), REST_NS_MAX);
	path->rest_until_ns = num_add_sat(now_ns, path->rest_ns);
}

void
tcp_path_works(struct tcp_path *path)
{
	path->rest_ns = 0;
	path->rest_until_ns = 0;
}

bool
tcp_path_is_numeric(const struct tcp_path *path)
{
	return path->is_unix || path->text[0] == '[' ||
	       (path->text[0] >= '0' && path->text[0] <= '9');
}

int
tcp_path_reach(const char *text, struct sock_addr *ret_addr, int *ret_fd)
{
	int r = sock_addr_parse(text, ret_addr);

	return r != 0 ? r : sock_connect_begin(ret_addr, ret_fd);
}
