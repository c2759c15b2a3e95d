/* SPDX-License-Identifier: Apache-2.0 */

/*
 * path.h -- keys as paths, and back.  Every key has one path, no two share one.
 *
 *      in the key                                     in the path
 *      --------------------------------------------   ------------------------------------------
 *      '/' between parts                              a directory level
 *      '%'                                            %25
 *      an empty part (leading, doubled, trailing /)   %_
 *      a part that is "." or ".."                     %2E, %2E%2E
 *      a part over 255 bytes (as written here)        pieces: each that ends in %+ is a directory,
 *                                                     the rest follows inside it
 *      ".tiffin" as the first part                    %2Etiffin: the plain name is the mount's own
 *      key "a" when keys "a/..." exist                the file a/%@; the directory has the name
 *      any other byte                                 itself
 *
 * A directory is told by the bytes with which all keys below it begin: "" (the
 * root), "a/b/", or, inside a long part, "a/" and the bytes of the pieces so far.
 * Pieces are as long as they may be, so there is one way to cut a part.
 *
 * Of a mount with a prefix all keys and directories are given without it: its root is "".
 *
 * Everything here is pure: no state, no allocation.  thread: any.
 */
#ifndef FS_PATH_H
#define FS_PATH_H

#include "transfer/base/base.h"

#define FS_PATH_NAME_MAX     255  /* bytes of one name */
#define FS_PATH_KEY_MAX      1024 /* bytes of one key */
#define FS_PATH_CONTROL_REST "tiffin"
#define FS_PATH_CONTROL      "." FS_PATH_CONTROL_REST /* the control directory, in the root */

#define FS_PATH_MAX 4096 /* bytes of the longest path of a key, its NUL included */

enum fs_path_kind {
	FS_PATH_PLAIN, /* a file `directory + bytes`, or a directory `directory + bytes + "/"` */
	FS_PATH_PIECE, /* a directory `directory + bytes`: a part that goes on inside it */
	FS_PATH_SELF,  /* the file of the directory's own key, without its '/' */
};

enum fs_path_outcome {
	FS_PATH_E_ILLEGAL = 1, /* no key has such a path */
	FS_PATH_E_TOO_LONG,    /* of a name, a key or a path */
	FS_PATH_E_ELSEWHERE,   /* the part is shown by a directory further up */
};

/* One step down: what a name adds to the bytes of its directory. */
struct fs_path_step {
	enum fs_path_kind kind;
	size_t len_bytes;
	char bytes[FS_PATH_NAME_MAX + 1];
};

/*
 * fs_path_decode -- what a name in a directory means.
 *
 * result:  0, FS_PATH_E_ILLEGAL, FS_PATH_E_TOO_LONG (only the name is judged, not the whole key).
 */
int fs_path_decode(const char *dir, const char *name, struct fs_path_step *ret_step) MUST_CHECK;

/*
 * fs_path_encode -- the name under which a directory shows the part of a key.
 *
 * part       what follows the directory's bytes, up to the next '/' or the end.
 * ret_name   FS_PATH_NAME_MAX + 1 bytes.
 * ret_kind   FS_PATH_PLAIN or FS_PATH_PIECE.
 *
 * result:  0, FS_PATH_E_ELSEWHERE.
 */
int fs_path_encode(const char *dir, const char *part, size_t part_bytes, char *ret_name,
		   enum fs_path_kind *ret_kind) MUST_CHECK;

/* fs_path_is_piece -- is this the directory of an unfinished part? */
bool fs_path_is_piece(const char *dir);

/*
 * fs_path_of_key -- the whole path, without a leading '/'.
 *
 * is_shadowed  keys "key/..." exist.
 * ret_path     FS_PATH_MAX bytes.
 *
 * needs:   1..1024 bytes of key.
 */
void fs_path_of_key(const char *key, bool is_shadowed, char *ret_path);

/*
 * fs_path_to_key -- the key of a file's path (no leading '/').
 *
 * ret_key  FS_PATH_KEY_MAX + 1 bytes.
 * result:  0, FS_PATH_E_ILLEGAL, FS_PATH_E_TOO_LONG.
 */
int fs_path_to_key(const char *path, char *ret_key) MUST_CHECK;

/*
 * fs_path_split -- the directory in which a file's key, or a directory's bytes, stand.
 *
 * ret_dir_bytes  how many leading bytes of `key` are that directory's.
 * ret_name       its name there, FS_PATH_NAME_MAX + 1 bytes.
 *
 * needs:   for a directory: not the root.
 */
void fs_path_split(const char *key, bool is_dir, size_t *ret_dir_bytes, char *ret_name);

#endif
