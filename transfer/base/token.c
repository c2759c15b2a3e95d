/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/token.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

static_assert(TOKEN_SECRET_BYTES == crypto_shorthash_siphashx24_KEYBYTES, "the key of the mac");
static_assert(TOKEN_MAC_BYTES == crypto_shorthash_siphashx24_BYTES, "the mac");

/* What is signed: every field but the mac, little-endian, in the order of the struct. */
#define SIGNED_BYTES (6 * 8 + 4)

static int
fill_random(void *bytes, size_t len_bytes)
{
	ssize_t n;

	assert(len_bytes <= 256); /* so much comes whole or not at all */

	do {
		n = getrandom(bytes, len_bytes, 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)len_bytes)
		return err_new(n < 0 ? -errno : -EIO);
	return 0;
}

int
token_secret_new(uint8_t ret_secret[TOKEN_SECRET_BYTES])
{
	int r = fill_random(ret_secret, TOKEN_SECRET_BYTES);

	return err_up(r);
}

static void
make_mac(const struct token *token, const uint8_t secret[TOKEN_SECRET_BYTES],
	 uint8_t ret_mac[TOKEN_MAC_BYTES])
{
	const uint64_t words[] = {
		htole64(token->client_id),     htole64(token->segment_id),
		htole64(token->segment_epoch), htole64(token->offset_bytes),
		htole64(token->len_bytes),     htole64(token->until_ms),
		htole64(token->rights), /* its upper half is not signed */
	};

	static_assert(sizeof(words) == SIGNED_BYTES + 4, "every field, and four bytes of nothing");
	crypto_shorthash_siphashx24(ret_mac, (const uint8_t *)words, SIGNED_BYTES, secret);
}

void
token_sign(struct token *token, const uint8_t secret[TOKEN_SECRET_BYTES])
{
	make_mac(token, secret, token->mac);
}

bool
token_is_genuine(const struct token *token, const uint8_t secret[TOKEN_SECRET_BYTES])
{
	uint8_t mac[TOKEN_MAC_BYTES];

	make_mac(token, secret, mac);
	return sodium_memcmp(mac, token->mac, sizeof(mac)) == 0;
}

/* Who may write an extent may also read it back. */
static bool
rights_suffice(uint32_t have, uint32_t wanted)
{
	if (have & TOKEN_WRITE && wanted == TOKEN_READ)
		return true;
	return wanted != 0 && (have & wanted) == wanted;
}

static bool
range_is_inside(const struct token *token, uint64_t offset_bytes, uint64_t len_bytes)
{
	if (token->offset_bytes == 0 && token->len_bytes == 0)
		return true; /* the whole segment; its size is the provider's to check */
	return offset_bytes >= token->offset_bytes &&
	       num_range_fits(offset_bytes - token->offset_bytes, len_bytes, token->len_bytes);
}

bool
token_allows(const struct token *token, uint32_t rights, uint64_t segment_id,
	     uint64_t segment_epoch, uint64_t offset_bytes, uint64_t len_bytes, uint64_t now_ms)
{
	return rights_suffice(token->rights, rights) && token->segment_id == segment_id &&
	       token->segment_epoch == segment_epoch && now_ms < token->until_ms &&
	       range_is_inside(token, offset_bytes, len_bytes);
}

/* ---- cluster key ---- */

#define KEY_HEX_BYTES (2 * (size_t)KEY_BYTES)

/* read_some -- up to cap_bytes; less only at the end of the file.  Count or -errno. */
static ssize_t
read_some(int fd, char *buf, size_t cap_bytes)
{
	size_t len = 0;

	while (len < cap_bytes) {
		ssize_t n = read(fd, buf + len, cap_bytes - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_new(-errno);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

static int
key_parse(const char *text, size_t len, struct cluster_key *ret_key)
{
	struct cluster_key key = {.present = true};
	size_t n_bytes = 0;

	if (len == KEY_HEX_BYTES + 1 && text[KEY_HEX_BYTES] == '\n')
		len--;
	if (len != KEY_HEX_BYTES)
		return err_new(-EINVAL);
	if (sodium_hex2bin(key.bytes, sizeof(key.bytes), text, len, NULL, &n_bytes, NULL) != 0 ||
	    n_bytes != KEY_BYTES)
		return err_new(-EINVAL);

	*ret_key = key;
	sodium_memzero(&key, sizeof(key));
	return 0;
}

int
key_load(const char *path, struct cluster_key *ret_key)
{
	cleanup_with(fd_close_at) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[KEY_HEX_BYTES + 2];
	struct stat st;
	ssize_t len;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_new(-errno);
	if (!S_ISREG(st.st_mode))
		return err_new(-EINVAL);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return err_new(-EACCES);

	len = read_some(fd, text, sizeof(text));
	if (len < 0)
		return err_up((int)len);
	r = key_parse(text, (size_t)len, ret_key);
	sodium_memzero(text, sizeof(text));
	return err_up(r);
}

/* write_key -- the whole file, and down to the disk. */
static int
write_key(int fd)
{
	char text[KEY_HEX_BYTES + 1];
	uint8_t bytes[KEY_BYTES];
	ssize_t n;
	int r;

	r = fill_random(bytes, sizeof(bytes));
	if (r < 0)
		return err_up(r);

	sodium_bin2hex(text, sizeof(text), bytes, sizeof(bytes));
	text[KEY_HEX_BYTES] = '\n';
	n = write(fd, text, sizeof(text));
	if (n != (ssize_t)sizeof(text))
		r = err_new(n < 0 ? -errno : -ENOSPC);
	else if (fchmod(fd, S_IRUSR | S_IWUSR) < 0 || fsync(fd) < 0)
		r = err_new(-errno);

	sodium_memzero(text, sizeof(text));
	sodium_memzero(bytes, sizeof(bytes));
	return r;
}

int
key_create(const char *path)
{
	cleanup_with(fd_close_at) int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	int r;

	if (fd < 0)
		return err_new(-errno);

	r = write_key(fd);
	if (r < 0) {
		unlink(path); /* it was not there before; half a key is worse than none */
		return err_up(r);
	}
	return 0;
}

int
key_challenge(uint8_t ret_challenge[CHALLENGE_BYTES])
{
	int r = fill_random(ret_challenge, CHALLENGE_BYTES);

	return err_up(r);
}

void
key_answer(const struct cluster_key *key, const uint8_t challenge[CHALLENGE_BYTES],
	   enum key_role role, uint8_t ret_answer[KEY_BYTES])
{
	uint8_t text[CHALLENGE_BYTES + 1];
	int r;

	assert(key->present);

	memcpy(text, challenge, CHALLENGE_BYTES);
	text[CHALLENGE_BYTES] = (uint8_t)role;
	r = crypto_generichash(ret_answer, KEY_BYTES, text, sizeof(text), key->bytes, KEY_BYTES);
	assert(r == 0);
}

bool
key_answer_is_right(const struct cluster_key *key, const uint8_t challenge[CHALLENGE_BYTES],
		    enum key_role role, const uint8_t answer[KEY_BYTES])
{
	uint8_t right[KEY_BYTES];

	if (!key->present)
		return false;
	key_answer(key, challenge, role, right);
	return sodium_memcmp(right, answer, sizeof(right)) == 0;
}
