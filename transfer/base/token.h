/* SPDX-License-Identifier: Apache-2.0 */

/*
 * token.h -- the master's word on paper: who may touch which bytes until when.
 *
 *      provider --secret with each mount--> master --token with each grant--> client
 *         ^                                                                    |
 *         +------------------------- token with each way in -------------------+
 *
 * A provider makes a fresh secret for each mount, and sends it to the master
 * over their own connection.  The master signs what it grants; the provider
 * checks.  `until_ms` is on the *provider's* clock: the master reckons it from
 * the clock reading in the provider's last ping, which can only be too old, so
 * a token never lives longer than meant.
 *
 * The signature is SipHash-2-4 with 128 bits (libsodium), keyed by the secret.
 */
#ifndef TRANSFER_BASE_TOKEN_H
#define TRANSFER_BASE_TOKEN_H

#include "transfer/base/base.h"

#define TOKEN_SECRET_BYTES 16
#define TOKEN_MAC_BYTES    16

enum token_rights {
	TOKEN_READ = 1,  /* any range of the segment, for reading */
	TOKEN_WRITE = 2, /* this extent, for writing (and reading back) */
	TOKEN_MAP = 4,   /* with TOKEN_READ: hand me the memory, read-only */
};

struct token {
	uint64_t client_id;
	uint64_t segment_id, segment_epoch;
	uint64_t offset_bytes, len_bytes; /* 0, 0: the whole segment */
	uint64_t until_ms;                /* clock of the provider */
	uint32_t rights;                  /* enum token_rights, or-ed */
	uint8_t mac[TOKEN_MAC_BYTES];
};

/* token_secret_new -- from the kernel's randomness; 0 or -errno. */
int token_secret_new(uint8_t ret_secret[TOKEN_SECRET_BYTES]) MUST_CHECK;

/* token_sign -- fill in mac over all other fields. */
void token_sign(struct token *token, const uint8_t secret[TOKEN_SECRET_BYTES]);

/* token_is_genuine -- compares in constant time. */
bool token_is_genuine(const struct token *token, const uint8_t secret[TOKEN_SECRET_BYTES]);

/* token_allows -- rights, epoch, time and range all fit (the mac is not looked at). */
bool token_allows(const struct token *token, uint32_t rights, uint64_t segment_id,
		  uint64_t segment_epoch, uint64_t offset_bytes, uint64_t len_bytes,
		  uint64_t now_ms);

/*
 * Cluster key: both ends of a TCP connection prove that they hold the key file.
 *
 *      key_answer = keyed BLAKE2b over (challenge, role), 32 bytes
 */
#define KEY_BYTES       32
#define CHALLENGE_BYTES 32

enum key_role { KEY_ROLE_CLIENT = 1, KEY_ROLE_SERVER = 2 };

struct cluster_key {
	bool present;
	uint8_t bytes[KEY_BYTES];
};

/*
 * key_load -- read a key file: 64 hexadecimal digits, perhaps a newline; mode at most 0600.
 *
 * result:  0; -EACCES when others may read the file; -EINVAL when it is not a key; -errno.
 */
int key_load(const char *path, struct cluster_key *ret_key) MUST_CHECK;

/* key_create -- a new key file of mode 0600; -EEXIST when there is one. */
int key_create(const char *path) MUST_CHECK;

int key_challenge(uint8_t ret_challenge[CHALLENGE_BYTES]) MUST_CHECK;
void key_answer(const struct cluster_key *key, const uint8_t challenge[CHALLENGE_BYTES],
		enum key_role role, uint8_t ret_answer[KEY_BYTES]);
bool key_answer_is_right(const struct cluster_key *key, const uint8_t challenge[CHALLENGE_BYTES],
			 enum key_role role, const uint8_t answer[KEY_BYTES]);

#endif
