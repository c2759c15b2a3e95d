/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lab_rdma -- provider and client over a real RDMA device; the address of one is the first word.
 *
 *      lab_rdma 192.0.2.1:0
 */
#include "tests/unit/xfer_world.h"

#include "transfer/base/log.h"

static struct world *
rdma_world(void)
{
	return world_open(transport_rdma_new, "unix");
}

static void
ops__of_every_size__arrive_whole(void **state)
{
	struct world *w = rdma_world();

	(void)state;
	world_moves_every_size(w);
	world_close(w);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops__of_every_size__arrive_whole),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: lab_rdma HOST:PORT\n");
		return 2;
	}
	world_rdma = argv[1];
	log_set_sink(log_to_stderr, NULL, LOG_DEBUG);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
