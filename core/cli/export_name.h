/* SPDX-License-Identifier: Apache-2.0 */

/*
 * export_name.h -- a key as the path of a file, the same as the mount shows it.
 *
 *      in the key                       in the path
 *      / between parts                  a directory level
 *      %                                %25
 *      an empty part                    %_
 *      a part that is . or ..           %2E, %2E%2E
 *      a part over 255 bytes            pieces of at most 255; those that end in %+ are directories
 *      .tiffin as the first part        %2Etiffin
 *      key a when keys a/... exist      a/%@
 *      any other byte                   itself
 *
 * No part of a path is ever empty, "." or "..", so a path stays below the
 * directory it is written to, whatever the key.
 */
#ifndef CORE_CLI_EXPORT_NAME_H
#define CORE_CLI_EXPORT_NAME_H

#include "transfer/base/base.h"

/* A key of 1024 bytes, each of them '%', and what splitting adds. */
#define EXPORT_NAME_CAP 4096

/* EXPORT_NAME_BESIDE -- the name, in a directory, of the object whose key is the directory's. */
#define EXPORT_NAME_BESIDE "%@"

enum export_name_outcome {
	EXPORT_NAME_E_NOT_A_KEY = 1, /* no key has this path */
};

/*
 * export_name_of -- the path of a key.
 *
 * needs:   1..1024 bytes of key; cap >= EXPORT_NAME_CAP.
 * result:  buf.
 */
const char *export_name_of(char *buf, size_t cap, const char *key);

/*
 * export_name_key -- the key of a path, relative, with single slashes.
 *
 * Without "a/%@": its key is that of its directory.
 * needs:   cap > 1024.
 * result:  0, or EXPORT_NAME_E_NOT_A_KEY: not a path that export_name_of() makes.
 */
int export_name_key(char *buf, size_t cap, const char *path) MUST_CHECK;

#endif
