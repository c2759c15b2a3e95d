/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/syslog_sink.h"

#include <syslog.h>

#include "transfer/base/base.h"

static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

void
fs_syslog_open(const char *name)
{
	openlog(name, LOG_PID, LOG_DAEMON);
}

void
fs_syslog(int level, const char *line)
{
	assert(level >= 0 && (size_t)level < array_len(priorities));
	syslog(priorities[level], "%s", line);
}
