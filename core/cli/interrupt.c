/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#define PATIENCE_S  2
#define EXIT_STATUS 130

/* Written by the handler alone; a flag, so nothing else has to be in order with it. */
static volatile sig_atomic_t mark;

/* Written once, before anything that takes long. */
static volatile sig_atomic_t is_patient;

static void
on_signal(int number)
{
	if (mark || number == SIGALRM)
		_exit(EXIT_STATUS);
	mark = 1;
	if (!is_patient)
		alarm(PATIENCE_S);
}

void
interrupt_install(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGALRM, &action, NULL);

	/* A reader who has seen enough (| head) shows itself as EPIPE. */
	sigaction(SIGPIPE, &ignore, NULL);
}

void
interrupt_be_patient(void)
{
	is_patient = 1;
}

bool
interrupted(void)
{
	return mark != 0;
}
