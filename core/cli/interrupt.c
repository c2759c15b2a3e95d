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

/* The command that runs under us; 0: none. */
static volatile sig_atomic_t child;

/* A terminal has told the command by itself: what comes from there is not told again. */
static void
on_signal(int number, siginfo_t *from, void *unused)
{
	(void)unused;
	if (child > 0) {
		if (from->si_code == SI_USER || from->si_code == SI_QUEUE)
			kill((pid_t)child, number);
		return;
	}
	if (mark || number == SIGALRM)
		_exit(EXIT_STATUS);
	mark = 1;
	if (!is_patient)
		alarm(PATIENCE_S);
}

void
interrupt_install(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
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
interrupt_pass_to(pid_t pid)
{
	child = pid;
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
