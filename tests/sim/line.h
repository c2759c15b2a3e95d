/* SPDX-License-Identifier: Apache-2.0 */

/*
 * line.h -- a struct link (core/link.h) over the simulated network.
 *
 *      DOWN --dial--> HELLO --answer--> JOIN --answer--> UP --cut, NOT_JOINED--> DOWN
 *
 * What was under way when the line broke goes out again under the same request ids.
 */
#ifndef TESTS_SIM_LINE_H
#define TESTS_SIM_LINE_H

#include "core/link.h"
#include "tests/sim/fiber.h"

struct line_config {
	unsigned node;
	uint64_t client_id;
	struct proc *proc;
	const struct clock *clock;
	const char *name, *host;
	const char *tenant; /* NULL: "default" */
};

/* line_new -- freed by its free(); strings and proc are borrowed. */
struct link *line_new(const struct line_config *config);

/* line_cut -- break the connection, if there is one. */
void line_cut(struct link *link);

/* line_joins -- how often it has joined; a client that was forgotten meanwhile gets no old answers.
 */
uint32_t line_joins(struct link *link);

/* line_die -- the process was killed: every call ends, nothing is sent any more. */
void line_die(struct link *link);

#endif
