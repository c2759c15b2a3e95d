/* SPDX-License-Identifier: Apache-2.0 */

/*
 * errnos -- every line of a table is one call on a small tree, with what it must give.
 *
 *      errnos TABLE DIR REFERENCE
 *
 *      WHO CALL ARGUMENTS... : WANTED [/ ELSEWHERE]
 *
 * WHO is root, nobody, or all (both).  WANTED is a number, ok (any number) or an errno.  The same
 * call is made on REFERENCE, a directory of another file system (tmpfs), where it must give
 * ELSEWHERE, or WANTED: so a line that is wrong is found, too.  Then both trees must be the same;
 * after an error the tree is as before.
 *
 * In arguments @N stands for N times the letter n, and "" for nothing at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/conformance/chance.h"

#define NOBODY   65534
#define ARGS_MAX 8
#define WORD_MAX 6000
#define TEXT_MAX 8000

/* ---- words ---- */

#define WORD(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}
static const struct {
	const char *name;
	long value;
} words[] = {
	WORD(O_RDONLY),
	WORD(O_WRONLY),
	WORD(O_RDWR),
	WORD(O_CREAT),
	WORD(O_EXCL),
	WORD(O_TRUNC),
	WORD(O_APPEND),
	WORD(O_DIRECTORY),
	WORD(O_NOFOLLOW),
	WORD(O_PATH),
	WORD(O_DIRECT),
	WORD(O_SYNC),
	WORD(O_TMPFILE),
	WORD(O_NONBLOCK),
	WORD(SEEK_SET),
	WORD(SEEK_END),
	WORD(SEEK_DATA),
	WORD(SEEK_HOLE),
	WORD(FALLOC_FL_KEEP_SIZE),
	WORD(FALLOC_FL_PUNCH_HOLE),
	WORD(FALLOC_FL_ZERO_RANGE),
	WORD(FALLOC_FL_COLLAPSE_RANGE),
	WORD(FALLOC_FL_INSERT_RANGE),
	WORD(RENAME_NOREPLACE),
	WORD(RENAME_EXCHANGE),
	WORD(RENAME_WHITEOUT),
	WORD(XATTR_CREATE),
	WORD(XATTR_REPLACE),
	WORD(R_OK),
	WORD(W_OK),
	WORD(X_OK),
	WORD(F_OK),
	WORD(S_IFIFO),
	WORD(S_IFCHR),
	WORD(S_IFSOCK),
	WORD(S_IFREG),
	WORD(F_RDLCK),
	WORD(F_WRLCK),
	WORD(F_UNLCK),
	WORD(LOCK_EX),
	WORD(LOCK_SH),
	WORD(PROT_READ),
	WORD(PROT_WRITE),
	WORD(MAP_SHARED),
	WORD(MAP_PRIVATE),
	WORD(UTIME_NOW),
	WORD(UTIME_OMIT),
};

static void __attribute__((noreturn)) wrong(const char *what, const char *word)
{
	fprintf(stderr, "errnos: %s: %s\n", what, word);
	exit(2);
}

/* number_of -- "A|B", a number (octal with a leading 0), or a name. */
static long
number_of(const char *text)
{
	char copy[200], *save = NULL;
	long value = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *part = strtok_r(copy, "|", &save); part != NULL;
	     part = strtok_r(NULL, "|", &save)) {
		size_t i = 0;
		char *end;
		long n = strtol(part, &end, 0);

		if (*end == '\0') {
			value |= n;
			continue;
		}
		while (i < sizeof(words) / sizeof(words[0]) && strcmp(words[i].name, part) != 0)
			i++;
		if (i == sizeof(words) / sizeof(words[0]))
			wrong("no such word", part);
		value |= words[i].value;
	}
	return value;
}

/* ---- calls: each gives what it gave, or -errno ---- */

static long
result(long r)
{
	return r < 0 ? -errno : r;
}

/* with_fd -- open, one call, close. */
static long
with_fd(char **args, long (*call)(int fd, char **args))
{
	int fd = open(args[0], (int)number_of(args[1]), 0644);
	long r;

	if (fd < 0)
		return -errno;
	r = call(fd, args + 2);
	if (close(fd) < 0 && r >= 0)
		r = -errno;
	return r;
}

#define ON_FD(name, expression)                                                                    \
	static long name##_fd(int fd, char **args)                                                 \
	{                                                                                          \
		(void)fd;                                                                          \
		(void)args;                                                                        \
		return result(expression);                                                         \
	}                                                                                          \
	static long call_##name(char **args)                                                       \
	{                                                                                          \
		return with_fd(args, name##_fd);                                                   \
	}
#define ON_PATH(name, expression)                                                                  \
	static long call_##name(char **args)                                                       \
	{                                                                                          \
		return result(expression);                                                         \
	}
#define N(i) number_of(args[i])

static char room[WORD_MAX];
static struct stat st;
static struct statfs sfs;

static long
lock_region(int fd, long type)
{
	struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_len = 10};

	return fcntl(fd, F_SETLK, &lock);
}

static long
map_some(int fd, long prot, long flags)
{
	void *map = mmap(NULL, 4096, (int)prot, (int)flags, fd, 0);

	if (map == MAP_FAILED)
		return -1;
	return munmap(map, 4096);
}

static long
set_times(const char *path, long sec, long nsec)
{
	const struct timespec times[2] = {{sec, nsec}, {sec, nsec}};

	return utimensat(AT_FDCWD, path, times, 0);
}

static long
copy_to_end(int fd, long n)
{
	loff_t from = 0, to = 1000;

	return copy_file_range(fd, &from, fd, &to, (size_t)n, 0);
}

ON_FD(open, 0)
ON_FD(read, read(fd, room, 100))
ON_FD(pread, pread(fd, room, 100, number_of(args[0])))
ON_FD(write, write(fd, args[0], strlen(args[0])))
ON_FD(pwrite, pwrite(fd, args[0], strlen(args[0]), number_of(args[1])))
ON_FD(ftruncate, ftruncate(fd, number_of(args[0])))
ON_FD(fallocate, fallocate(fd, (int)number_of(args[0]), number_of(args[1]), number_of(args[2])))
ON_FD(lseek, lseek(fd, number_of(args[1]), (int)number_of(args[0])))
ON_FD(fsync, fsync(fd))
ON_FD(fchmod, fchmod(fd, (mode_t)number_of(args[0])))
ON_FD(flock, flock(fd, (int)number_of(args[0]) | LOCK_NB))
ON_FD(lock, lock_region(fd, number_of(args[0])))
ON_FD(mmap, map_some(fd, number_of(args[0]), number_of(args[1])))
ON_FD(copy, copy_to_end(fd, number_of(args[0])))
ON_PATH(mkdir, mkdir(args[0], (mode_t)N(1)))
ON_PATH(rmdir, rmdir(args[0]))
ON_PATH(unlink, unlink(args[0]))
ON_PATH(rename, rename(args[0], args[1]))
ON_PATH(renamex, renameat2(AT_FDCWD, args[0], AT_FDCWD, args[1], (unsigned)N(2)))
ON_PATH(link, link(args[0], args[1]))
ON_PATH(symlink, symlink(args[0], args[1]))
ON_PATH(readlink, readlink(args[0], room, sizeof(room)))
ON_PATH(mknod, mknod(args[0], (mode_t)N(1) | 0644, makedev(1, 3)))
ON_PATH(chmod, chmod(args[0], (mode_t)N(1)))
ON_PATH(chown, chown(args[0], (uid_t)N(1), (gid_t)N(2)))
ON_PATH(lchown, lchown(args[0], (uid_t)N(1), (gid_t)N(2)))
ON_PATH(utimens, set_times(args[0], N(1), N(2)))
ON_PATH(truncate, truncate(args[0], N(1)))
ON_PATH(getxattr, getxattr(args[0], args[1], room, (size_t)N(2)))
ON_PATH(setxattr, setxattr(args[0], args[1], args[2], strlen(args[2]), (int)N(3)))
ON_PATH(listxattr, listxattr(args[0], room, (size_t)N(1)))
ON_PATH(removexattr, removexattr(args[0], args[1]))
ON_PATH(access, faccessat(AT_FDCWD, args[0], (int)N(1), AT_EACCESS))
ON_PATH(stat, stat(args[0], &st))
ON_PATH(lstat, lstat(args[0], &st))
ON_PATH(size, stat(args[0], &st) < 0 ? -1 : st.st_size)
ON_PATH(mode, stat(args[0], &st) < 0 ? -1 : (long)(st.st_mode & 07777))
ON_PATH(statfs, statfs(args[0], &sfs))
ON_PATH(namemax, statfs(args[0], &sfs) < 0 ? -1 : sfs.f_namelen)
ON_PATH(chdir, chdir(args[0]))

static const struct {
	const char *name;
	int n_args;
	long (*run)(char **args);
} calls[] = {
	{"open", 2, call_open},           {"read", 2, call_read},
	{"pread", 3, call_pread},         {"write", 3, call_write},
	{"pwrite", 4, call_pwrite},       {"ftruncate", 3, call_ftruncate},
	{"fallocate", 5, call_fallocate}, {"lseek", 4, call_lseek},
	{"fsync", 2, call_fsync},         {"fchmod", 3, call_fchmod},
	{"flock", 3, call_flock},         {"lock", 3, call_lock},
	{"mmap", 4, call_mmap},           {"copy", 3, call_copy},
	{"mkdir", 2, call_mkdir},         {"rmdir", 1, call_rmdir},
	{"unlink", 1, call_unlink},       {"rename", 2, call_rename},
	{"renamex", 3, call_renamex},     {"link", 2, call_link},
	{"symlink", 2, call_symlink},     {"readlink", 1, call_readlink},
	{"mknod", 2, call_mknod},         {"chmod", 2, call_chmod},
	{"chown", 3, call_chown},         {"lchown", 3, call_lchown},
	{"utimens", 3, call_utimens},     {"truncate", 2, call_truncate},
	{"getxattr", 3, call_getxattr},   {"setxattr", 4, call_setxattr},
	{"listxattr", 2, call_listxattr}, {"removexattr", 2, call_removexattr},
	{"access", 2, call_access},       {"stat", 1, call_stat},
	{"lstat", 1, call_lstat},         {"size", 1, call_size},
	{"mode", 1, call_mode},           {"statfs", 1, call_statfs},
	{"namemax", 1, call_namemax},     {"chdir", 1, call_chdir},
};

/* ---- the tree ---- */

static const struct {
	char type; /* d f l */
	const char *path;
	mode_t mode;
	uid_t owner;
	const char *bytes;
} tree[] = {
	{'f', "file", 0644, 0, "0123456789"},
	{'f', "secret", 0600, 0, "secret"},
	{'f', "open", 0666, 0, "open"},
	{'f', "exec", 0755, 0, "#!"},
	{'f', "none", 0, 0, ""},
	{'d', "dir", 0755, 0, NULL},
	{'f', "dir/in", 0644, 0, "in"},
	{'d', "dir/sub", 0755, 0, NULL},
	{'f', "dir/sub/deep", 0644, 0, "deep"},
	{'d', "empty", 0755, 0, NULL},
	{'d', "pub", 0777, 0, NULL},
	{'f', "pub/in", 0666, 0, "in pub"},
	{'d', "pub/empty", 0755, 0, NULL},
	{'d', "pub/full", 0755, 0, NULL},
	{'f', "pub/full/in", 0644, 0, "x"},
	{'d', "hidden", 0700, 0, NULL},
	{'f', "hidden/in", 0666, 0, "hidden"},
	{'d', "sticky", 01777, 0, NULL},
	{'f', "sticky/theirs", 0666, 0, "theirs"},
	{'f', "sticky/mine", 0644, NOBODY, "mine"},
	{'d', "mine", 0755, NOBODY, NULL},
	{'f', "mine/file", 0644, NOBODY, "of nobody"},
	{'f', "mine/theirs", 0644, 0, "of root"},
	{'d', "mine/empty", 0755, NOBODY, NULL},
	{'f', "setuid", 06755, NOBODY, "su"},
	{'l', "link", 0777, 0, "file"},
	{'l', "dlink", 0777, 0, "dir"},
	{'l', "dangling", 0777, 0, "nowhere"},
	{'l', "loop", 0777, 0, "loop"},
};

static void
must(long r, const char *what, const char *path)
{
	if (r < 0) {
		fprintf(stderr, "errnos: %s %s: %s\n", what, path, strerror(errno));
		exit(1);
	}
}

static void
make_file(const char *path, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	must(fd, "create", path);
	must(write(fd, bytes, strlen(bytes)), "write", path);
	must(close(fd), "close", path);
	must(setxattr(path, "user.kept", "value", 5, 0), "setxattr", path);
}

static int
remove_one(const char *path, const struct stat *of, int flag, struct FTW *at)
{
	(void)of;
	(void)flag;
	return at->level == 0 ? 0 : remove(path);
}

static void
make_tree(const char *dir)
{
	char path[600];

	must(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), "clear", dir);
	for (size_t i = 0; i < sizeof(tree) / sizeof(tree[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, tree[i].path);
		if (tree[i].type == 'd')
			must(mkdir(path, 0700), "mkdir", path);
		else if (tree[i].type == 'l')
			must(symlink(tree[i].bytes, path), "symlink", path);
		else
			make_file(path, tree[i].bytes);
		must(lchown(path, tree[i].owner, tree[i].owner), "chown", path);
		if (tree[i].type != 'l')
			must(chmod(path, tree[i].mode), "chmod", path);
	}
}

/* ---- what a tree is: all that a user sees, but sizes and times of directories ---- */

static FILE *telling;
static size_t n_root;

static void
tell_bytes(const char *path, const struct stat *of)
{
	int fd = open(path, O_RDONLY);
	uint64_t sum = 0;
	ssize_t n;

	must(fd, "open", path);
	while ((n = read(fd, room, sizeof(room))) > 0)
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char)room[i];
	close(fd);
	fprintf(telling, " size=%lld sum=%llx", (long long)of->st_size, (unsigned long long)sum);
	if (of->st_mtim.tv_sec < 1000000000)
		fprintf(telling, " mtime=%lld", (long long)of->st_mtim.tv_sec);
}

/* tell_xattrs -- in the order of their names. */
static void
tell_xattrs(const char *path)
{
	static const char *const names[] = {"user.empty", "user.kept", "user.more"};
	char value[100];
	ssize_t n;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		n = getxattr(path, names[i], value, sizeof(value));
		if (n >= 0)
			fprintf(telling, " %s=%.*s", names[i], (int)n, value);
		else if (errno != ENODATA)
			must(n, "getxattr", path);
	}
	fprintf(telling, " xattrs=%zd", listxattr(path, NULL, 0));
}

static int
tell_one(const char *path, const struct stat *of, int flag, struct FTW *at)
{
	char target[300] = "";

	(void)flag;
	if (at->level == 0)
		return 0;
	fprintf(telling, "%.100s %06o %u:%u", path + n_root + 1, of->st_mode, of->st_uid,
		of->st_gid);
	if (S_ISLNK(of->st_mode)) {
		must(readlink(path, target, sizeof(target) - 1), "readlink", path);
		fprintf(telling, " -> %s", target);
	} else if (S_ISREG(of->st_mode)) {
		tell_bytes(path, of);
		tell_xattrs(path);
	}
	fputc('\n', telling);
	return 0;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* tell_tree -- a line a name, in order. */
static char *
tell_tree(const char *dir)
{
	char *text = NULL, *sorted = NULL, *lines[500], *save = NULL;
	size_t len, n = 0;

	n_root = strlen(dir);
	telling = open_memstream(&text, &len);
	must(nftw(dir, tell_one, 16, FTW_PHYS), "walk", dir);
	fclose(telling);
	for (char *line = strtok_r(text, "\n", &save); line != NULL && n < 500;
	     line = strtok_r(NULL, "\n", &save))
		lines[n++] = line;
	qsort(lines, n, sizeof(lines[0]), by_text);
	telling = open_memstream(&sorted, &len);
	for (size_t i = 0; i < n; i++)
		fprintf(telling, "%s\n", lines[i]);
	fclose(telling);
	free(text);
	return sorted;
}

/* ---- the table ---- */

struct line {
	size_t number;
	char who[16], text[300];
	size_t call;
	int n_args;
	char args[ARGS_MAX][WORD_MAX];
	char wanted[32], elsewhere[32];
};

/* expand -- "@255/@3": so many letters each. */
static void
expand(const char *word, char *to)
{
	size_t n = 0;

	if (strcmp(word, "\"\"") == 0)
		word = "";
	while (*word != '\0') {
		char *end = NULL;
		size_t many = *word == '@' ? strtoul(word + 1, &end, 10) : 1;
		char letter = *word == '@' ? 'n' : *word;

		if (n + many >= WORD_MAX)
			wrong("too long", word);
		memset(to + n, letter, many);
		n += many;
		word = end != NULL ? end : word + 1;
	}
	to[n] = '\0';
}

/* parse -- false: nothing stands there. */
static bool
parse(char *text, struct line *line)
{
	char *save = NULL, *word;

	text[strcspn(text, "#\n")] = '\0';
	snprintf(line->text, sizeof(line->text), "%.299s", text);
	word = strtok_r(text, " \t", &save);
	if (word == NULL)
		return false;
	snprintf(line->who, sizeof(line->who), "%s", word);
	word = strtok_r(NULL, " \t", &save);
	for (line->call = 0; word != NULL && strcmp(calls[line->call].name, word) != 0;)
		if (++line->call == sizeof(calls) / sizeof(calls[0]))
			wrong("no such call", word);
	for (line->n_args = 0;
	     (word = strtok_r(NULL, " \t", &save)) != NULL && strcmp(word, ":") != 0;)
		expand(word, line->args[line->n_args++ % ARGS_MAX]);
	word = strtok_r(NULL, " \t", &save);
	if (word == NULL || line->n_args != calls[line->call].n_args)
		wrong("arguments or result", line->text);
	snprintf(line->wanted, sizeof(line->wanted), "%s", word);
	word = strtok_r(NULL, " \t", &save);
	if (word != NULL)
		word = strtok_r(NULL, " \t", &save);
	snprintf(line->elsewhere, sizeof(line->elsewhere), "%s",
		 word != NULL ? word : line->wanted);
	return true;
}

/* run -- in a process of its own, as that user, in that directory: what the call gave. */
static long
run(struct line *line, const char *dir, bool as_nobody)
{
	char *args[ARGS_MAX];
	int ends[2];
	long gave = -EPROTO;

	for (int i = 0; i < ARGS_MAX; i++)
		args[i] = line->args[i];
	must(pipe(ends), "pipe", "");
	if (fork() == 0) {
		umask(0);
		must(chdir(dir), "chdir", dir);
		if (as_nobody && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
				  setresuid(NOBODY, NOBODY, NOBODY) < 0))
			_exit(1);
		gave = calls[line->call].run(args);
		_exit(write(ends[1], &gave, sizeof(gave)) != sizeof(gave));
	}
	close(ends[1]);
	if (read(ends[0], &gave, sizeof(gave)) != sizeof(gave))
		gave = -EPROTO;
	close(ends[0]);
	wait(NULL);
	return gave;
}

static const char *
name_of(long gave)
{
	static char text[32];

	if (gave < 0)
		return strerrorname_np((int)-gave);
	snprintf(text, sizeof(text), "%ld", gave);
	return text;
}

static bool
is_it(long gave, const char *wanted)
{
	return strcmp(wanted, "ok") == 0 ? gave >= 0 : strcmp(name_of(gave), wanted) == 0;
}

/* ---- judging ---- */

struct bench {
	const char *dir, *reference;
	char *fresh;
	size_t n_run, n_bad;
};

static void
complain(struct bench *b, const struct line *line, const char *who, const char *what)
{
	b->n_bad++;
	printf("line %zu, %s: %s: %s\n", line->number, who, line->text, what);
}

/* again -- the tree as it was, if it is not; its text. */
static void
again(const char *dir, const char *now, const char *fresh)
{
	if (strcmp(now, fresh) != 0)
		make_tree(dir);
}

static void
try(struct bench *b, struct line *line, bool as_nobody)
{
	const char *who = as_nobody ? "nobody" : "root";
	long gave = run(line, b->dir, as_nobody), elsewhere = run(line, b->reference, as_nobody);
	char *ours = tell_tree(b->dir), *theirs = tell_tree(b->reference);
	char text[200];

	b->n_run++;
	if (!is_it(gave, line->wanted)) {
		snprintf(text, sizeof(text), "gave %s", name_of(gave));
		complain(b, line, who, text);
	}
	if (!is_it(elsewhere, line->elsewhere)) {
		snprintf(text, sizeof(text), "elsewhere it gave %s", name_of(elsewhere));
		complain(b, line, who, text);
	}
	if (gave < 0 && strcmp(ours, b->fresh) != 0)
		complain(b, line, who, "failed, and changed the tree");
	if (strcmp(line->wanted, line->elsewhere) == 0 && strcmp(ours, theirs) != 0) {
		complain(b, line, who, "the trees differ");
		printf("--- ours\n%s--- elsewhere\n%s", ours, theirs);
	}
	again(b->dir, ours, b->fresh);
	again(b->reference, theirs, b->fresh);
	free(ours);
	free(theirs);
}

int
main(int argc, char **argv)
{
	static struct line line;
	struct bench b = {0};
	char text[TEXT_MAX];
	FILE *table;

	if (argc != 4) {
		fputs("usage: errnos TABLE DIR REFERENCE\n", stderr);
		return 2;
	}
	umask(0);
	b.dir = argv[2];
	b.reference = argv[3];
	make_tree(b.dir);
	make_tree(b.reference);
	b.fresh = tell_tree(b.reference);
	table = fopen(argv[1], "r");
	must(table == NULL ? -1 : 0, "open", argv[1]);
	while (fgets(text, sizeof(text), table) != NULL) {
		line.number++;
		if (!parse(text, &line))
			continue;
		if (strcmp(line.who, "nobody") != 0)
			try(&b, &line, false);
		if (strcmp(line.who, "root") != 0)
			try(&b, &line, true);
	}
	fclose(table);
	free(b.fresh);
	printf("calls=%zu bad=%zu\n", b.n_run, b.n_bad);
	return b.n_bad > 0;
}
