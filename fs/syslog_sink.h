/* SPDX-License-Identifier: Apache-2.0 */

/* syslog_sink.h -- the log of a daemon that has no file.  Apart, for syslog.h and log.h share
 * names. */
#ifndef FS_SYSLOG_SINK_H
#define FS_SYSLOG_SINK_H

/* fs_syslog_open -- needs: name lives as long as the process. */
void fs_syslog_open(const char *name);

/* fs_syslog -- level as in log.h: 0 error, 1 warn, 2 info, 3 debug. */
void fs_syslog(int level, const char *line);

#endif
