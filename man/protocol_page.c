/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes tiffin-protocol(7) to standard output.  Records, messages and statuses come
 * from proto.def and status.def, word for word; the rest of the page stands here.
 *
 *      protocol_page > man/tiffin-protocol.7
 *
 * The page is kept in the tree; a test compares it with what this program writes.
 */
#include <stdio.h>
#include <string.h>

#include "man/mdoc.h"
#include "master/proto/codec.h"
#include "master/proto/status.h"
#include "transfer/base/frame.h"

struct field_text {
	const char *type; /* or, of a list, the record */
	const char *name;
	const char *most_name; /* of a list: its limit */
	unsigned long long most;
	const char *doc;
};

#define TEXT_OF_FIELD(type, name, doc)     {#type, #name, NULL, 0, doc},
#define TEXT_OF_LIST(rec, name, most, doc) {#rec, #name, #most, most, doc},

/* ---- mdoc ---- */

static void
say(const char *text)
{
	mdoc_say(stdout, text);
}

/* put_field -- "u64: a put under way." */
static void
put_field(const struct field_text *field)
{
	const char *colon = field->doc[0] != '\0' ? ": " : "";
	char text[512];

	if (field->most_name == NULL)
		snprintf(text, sizeof(text), "%s%s%s.", field->type, colon, field->doc);
	else
		snprintf(text, sizeof(text), "list of %s, at most %llu%s%s.", field->type,
			 field->most, colon, field->doc);
	printf(".It Va %s\n", field->name);
	say(text);
}

static void
put_fields(const struct field_text *fields, size_t n)
{
	if (n == 0) {
		puts("no fields.");
		return;
	}
	puts(".Bl -tag -width 16n -compact");
	for (size_t i = 0; i < n; i++) {
		put_field(&fields[i]);
	}
	puts(".El");
}

/* ---- what comes from the lists ---- */

#define TEXTS_OF(what, FIELDS)                                                                     \
	static const struct field_text what[] = {FIELDS(TEXT_OF_FIELD, TEXT_OF_LIST){0}};

#define RECORD(name, FIELDS) TEXTS_OF(rec_##name##_texts, FIELDS)
#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	TEXTS_OF(msg_##name##_texts, REQUEST)                                                      \
	TEXTS_OF(rep_##name##_texts, REPLY)
RECORDS(RECORD)
MESSAGES(MESSAGE)
#undef RECORD
#undef MESSAGE

#define PUT_FIELDS_OF(what) put_fields(what##_texts, array_len(what##_texts) - 1)

static void
put_records(void)
{
	puts(".Sh RECORDS OF LISTS");
#define RECORD(name, FIELDS)                                                                       \
	puts(".Ss " #name);                                                                        \
	PUT_FIELDS_OF(rec_##name);
	RECORDS(RECORD)
#undef RECORD
}

static void
put_messages(void)
{
	puts(".Sh MESSAGES");
	puts("The number after the name is the type in the frame.");
#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	puts(".Ss " #name " (" #number ")");                                                       \
	puts("Request:");                                                                          \
	PUT_FIELDS_OF(msg_##name);                                                                 \
	puts(".Pp\nReply:");                                                                       \
	PUT_FIELDS_OF(rep_##name);
	MESSAGES(MESSAGE)
#undef MESSAGE
}

static void
put_statuses(void)
{
	puts(".Sh STATUS");
	puts("A number, its name, and whether the same request may succeed when it is");
	puts("tried again later.");
	puts(".Bl -tag -width 12n");
#define STATUS(number, name, retry, meaning)                                                       \
	puts(".It " #number " " #name ", try again: " retry);                                      \
	say(meaning ".");
#include "master/proto/status.def"
#undef STATUS
	puts(".El");
}

/* ---- what stands here ---- */

static void
put_head(void)
{
	mdoc_head(stdout, "man/protocol_page.c from master/proto/*.def", "tiffin-protocol", 7);
	puts(".Nm tiffin-protocol");
	puts(".Nd what clients and providers say to the master of Tiffin");
	puts(".Sh DESCRIPTION");
	say("A client opens a stream to the master, by TCP or through a Unix socket, and sends "
	    "requests in frames. Each request is answered by one reply, a watch by one after "
	    "another. Requests may be sent without waiting for the replies to those before. "
	    "Bytes of objects never travel here: they go between client and provider.");
	puts(".Pp");
	printf("This page is about version %d.\n", PROTO_VERSION);
	say("Numbers of messages and statuses are never used again for something else, and the "
	    "fields of a message never change: what is new is a new message.");
}

static void
put_frame(void)
{
	puts(".Sh FRAME");
	say("A frame is a header of 32 bytes and a payload. All integers, here and everywhere "
	    "below, are little-endian.");
	puts(".Bl -column \"offset\" \"bytes\" \"CRC-32C of header and payload\"");
	puts(".It Sy offset Ta Sy bytes Ta Sy meaning");
	puts(".It 0 Ta 4 Ta the letters TIF1");
	printf(".It 4 Ta 4 Ta length of the payload, at most %u\n", FRAME_PAYLOAD_MAX);
	puts(".It 8 Ta 2 Ta type: the number of the message");
	puts(".It 10 Ta 2 Ta flags: 1 reply, 2 more replies follow");
	puts(".It 12 Ta 4 Ta status, in a reply");
	puts(".It 16 Ta 8 Ta request id");
	puts(".It 24 Ta 4 Ta CRC-32C of the frame, header and payload");
	puts(".It 28 Ta 4 Ta zero");
	puts(".El");
	puts(".Pp");
	say("The crc is reckoned as if its own four bytes were zero. Who finds a header or crc "
	    "that "
	    "is wrong closes the connection, for nothing after it can be trusted.");
	puts(".Pp");
	say("A reply bears the type and request id of its request. Its status is the fate of the "
	    "whole request. With status 0 its payload is the reply described below; with any "
	    "other its payload is one text that says why.");
	puts(".Pp");
	say("Request ids are the client's own and grow with each request. A request that comes "
	    "again, from the same client with the same id, is not carried out again but gets the "
	    "same answer.");
	puts(".Pp");
	say("Requests about objects are batches. Their replies answer for each in order, with a "
	    "status of its own.");
}

static void
put_types(void)
{
	puts(".Sh TYPES");
	puts(".Bl -tag -width 12n -compact");
	puts(".It u8, u16, u32, u64");
	puts("an unsigned integer of so many bits.");
	puts(".It key");
	printf("u16 length, then 1 to %d bytes, none of them NUL.\n", KEY_MAX);
	puts(".It part");
	printf("u16 length, then 0 to %d bytes, none of them NUL: how keys begin.\n", KEY_MAX);
	puts(".It name");
	printf("u16 length, then 1 to %d printable ASCII characters without blank.\n",
	       NAME_MAX_BYTES);
	puts(".It text");
	printf("u16 length, then 0 to %d bytes, none of them NUL.\n", TEXT_MAX);
	puts(".It attr");
	printf("u16 length, then 0 to %d bytes of any value.\n", ATTR_MAX);
	puts(".It mac");
	puts("16 bytes: the signature of a token, or the secret it is made with.");
	puts(".It proof");
	puts("32 bytes: a challenge or the answer to one.");
	puts(".It list");
	puts("u32 count, then so many records.");
	puts(".El");
	puts(".Pp");
	say("A payload has all its fields in the order in which they are listed, and nothing else. "
	    "One that is too short, too long, or breaks a limit is not read any further and "
	    "answered with INVALID.");
}

static void
put_talk(void)
{
	char limits[256];

	puts(".Sh CONVERSATION");
	say("The first request on a connection is hello, the second join; any other before them is "
	    "answered with NOT_JOINED. When the cluster has a key, each side answers the other's "
	    "challenge with the keyed BLAKE2b hash, 32 bytes, of the challenge followed by one "
	    "byte: 1 when the client answers, 2 when the master does. Then the client pings as "
	    "often "
	    "as the reply to join told it to.");
	puts(".Pp");
	say("To store an object: put_start, write the bytes into the extents granted, put_end. "
	    "The object can be seen from put_end on. To read one: get_replica_list, which grants a "
	    "lease, read the bytes, and see that the lease still runs when the last has come; "
	    "renew_lease in time when it takes longer, release_lease when done.");
	puts(".Pp");
	say("All promises are lengths of time. The client counts them from before it sent the "
	    "request, the master from after it sent the reply, so that the client's end first.");
	puts(".Pp");
	snprintf(limits, sizeof(limits),
		 "One client may have at most %d puts under way that have no room yet, and at most "
		 "%d requests (%u bytes together) that wait for room. What is beyond is answered "
		 "TOO_MANY, with a text that names the limit.",
		 EMPTY_PUTS_MAX, PARKED_MAX, PARKED_BYTES_MAX);
	say(limits);
}

static void
put_tail(void)
{
	puts(".Sh SEE ALSO");
	puts(".Xr tiffin 1 ,");
	puts(".Xr tiffin 7 ,");
	puts(".Xr tiffin-master 8 ,");
	puts(".Xr tiffin-provider 8");
}

int
main(void)
{
	put_head();
	put_frame();
	put_types();
	put_talk();
	put_messages();
	put_records();
	put_statuses();
	put_tail();
	return ferror(stdout) != 0;
}
