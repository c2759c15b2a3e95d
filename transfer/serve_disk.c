/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve_disk.c -- READ and WRITE of a segment on a disk, by way of a few pieces of memory:
 *
 *      READ     disk --several ahead--> piece --in order--> socket
 *      WRITE    socket --in order--> piece --several at once--> disk
 *
 * Pieces begin and end on the disk's blocks wherever they can, so that they go straight.  A WRITE
 * is answered when the disk has all of it; whichever way a request ends, the disk has nothing of it
 * under way any more.
 */
#include "transfer/base/num.h"
#include "transfer/lent_header.h"
#include "transfer/op_cursor.h"
#include "transfer/serve_conn.h"

#define PIECE_BYTES (512u << 10)
#define N_PIECES    (DISK_AREA_BYTES / PIECE_BYTES)

struct piece {
	struct op op;
	struct iovec iov;
	uint8_t *bytes;                 /* PIECE_BYTES */
	uint64_t skip_bytes, len_bytes; /* of the request, within what is read */
	bool is_over;
};

struct pass {
	struct serve_conn *conn;
	const struct wire_request *request;
	struct disk *disk;
	uint64_t deadline_ns;
	struct disk_queue *queue;
	struct piece pieces[N_PIECES];
	size_t first, n; /* under way, in the request's order: a ring */
	uint64_t begun_bytes;
	bool has_failed;
};

static void
over(void *arg, struct op *op, enum op_result result)
{
	struct pass *pass = arg;
	struct piece *piece = container_of(op, struct piece, op);

	piece->is_over = true;
	pass->has_failed |= result != OP_DONE;
}

static bool
pass_begin(struct pass *pass, struct serve_conn *conn, const struct wire_request *request,
	   struct lent *lent)
{
	uint8_t *area;

	*pass = (struct pass){.conn = conn, .request = request, .disk = lent->disk};
	pass->deadline_ns = UINT64_MAX; /* the peer has one of its own */
	pass->queue = disk_lanes_take(&conn->serve->disks, conn->serve->clock, over, pass);
	area = pass->queue != NULL ? disk_queue_area(pass->queue) : NULL;
	if (area == NULL)
		return false;
	for (size_t i = 0; i < N_PIECES; i++)
		pass->pieces[i].bytes = area + i * PIECE_BYTES;
	return true;
}

static void
pass_end(struct pass *pass)
{
	if (pass->queue == NULL)
		return;
	disk_queue_run(pass->queue);
	disk_lanes_give(&pass->conn->serve->disks, take(&pass->queue));
}

/* first_over -- the oldest piece, when the disk is done with it; NULL: there is none. */
static struct piece *
first_over(struct pass *pass)
{
	struct piece *piece = &pass->pieces[pass->first];

	if (pass->n == 0)
		return NULL;
	while (!piece->is_over)
		disk_queue_step(pass->queue, NS_PER_S);
	pass->first = (pass->first + 1) % N_PIECES;
	pass->n--;
	return piece;
}

/* next_piece -- of the request; needs: one is free, and something is left. */
static struct piece *
next_piece(struct pass *pass)
{
	struct piece *piece = &pass->pieces[(pass->first + pass->n) % N_PIECES];
	uint64_t at = pass->request->offset_bytes + pass->begun_bytes;

	assert(pass->n < N_PIECES && pass->begun_bytes < pass->request->len_bytes);
	piece->is_over = false;
	piece->skip_bytes = (LENT_HEADER_BYTES + at) % pass->disk->block_bytes;
	piece->len_bytes = num_min(pass->request->len_bytes - pass->begun_bytes,
				   PIECE_BYTES - piece->skip_bytes);
	pass->begun_bytes += piece->len_bytes;
	pass->n++;
	piece->op = (struct op){
		.kind = pass->request->kind == WIRE_READ ? OP_READ : OP_WRITE,
		.slices = &piece->iov,
		.n_slices = 1,
		.deadline_ns = pass->deadline_ns,
	};
	return piece;
}

/* ---- READ ---- */

/* begin_reads -- as many as there is memory for, with the blocks around them. */
static void
begin_reads(struct pass *pass)
{
	while (pass->n < N_PIECES && pass->begun_bytes < pass->request->len_bytes) {
		uint64_t at = pass->request->offset_bytes + pass->begun_bytes;
		struct piece *piece = next_piece(pass);
		uint64_t len = num_align_up(piece->skip_bytes + piece->len_bytes,
					    (uint64_t)pass->disk->block_bytes);

		piece->iov = (struct iovec){piece->bytes, len};
		piece->op.offset_bytes = at - piece->skip_bytes;
		piece->op.len_bytes = len;
		disk_queue_add(pass->queue, pass->disk, LENT_HEADER_BYTES, &piece->op);
	}
}

/* send_reads -- once bytes were promised, an error is told by hanging up. */
static bool
send_reads(struct pass *pass)
{
	const struct wire_request *request = pass->request;
	const struct wire_reply reply = {
		.kind = WIRE_READ,
		.id = request->id,
		.len_bytes = request->len_bytes,
	};
	bool is_first = true;
	struct piece *piece;

	for (begin_reads(pass); (piece = first_over(pass)) != NULL; begin_reads(pass)) {
		if (pass->has_failed)
			return is_first && serve_status(pass->conn, request, WIRE_IO);
		if (pass->n == 0 && pass->begun_bytes == request->len_bytes)
			serve_count(pass->conn->serve, request);
		if (!serve_send(pass->conn, is_first ? &reply : NULL,
				piece->bytes + piece->skip_bytes, piece->len_bytes))
			return false;
		is_first = false;
	}
	return true;
}

bool
serve_disk_read(struct serve_conn *conn, const struct wire_request *request, struct lent *lent)
{
	struct pass pass;
	bool goes_on;

	if (request->len_bytes == 0)
		return serve_status(conn, request, WIRE_DONE);
	goes_on = pass_begin(&pass, conn, request, lent) ? send_reads(&pass)
							 : serve_status(conn, request, WIRE_IO);
	pass_end(&pass);
	return goes_on;
}

/* ---- WRITE ---- */

static bool
recv_piece(struct pass *pass, struct piece *piece)
{
	uint8_t *to = piece->bytes + piece->skip_bytes;
	uint64_t left = piece->len_bytes;
	size_t n;

	for (; left > 0; left -= n, to += n)
		if (!serve_recv(pass->conn, to, left, &n))
			return false;
	return true;
}

/* The token must hold for every piece: when it ends in the middle, so does the connection. */
static bool
recv_writes(struct pass *pass)
{
	const struct wire_request *request = pass->request;

	while (pass->begun_bytes < request->len_bytes) {
		uint64_t at = request->offset_bytes + pass->begun_bytes;
		struct piece *piece;

		if (pass->n == N_PIECES)
			(void)first_over(pass);
		if (pass->has_failed)
			return serve_waste(pass->conn, request->len_bytes - pass->begun_bytes);
		piece = next_piece(pass);
		if (!recv_piece(pass, piece))
			return false;
		if (clock_ms(pass->conn->serve->clock) >= request->token.until_ms)
			return false;
		piece->iov = (struct iovec){piece->bytes + piece->skip_bytes, piece->len_bytes};
		piece->op.offset_bytes = at;
		piece->op.len_bytes = piece->len_bytes;
		disk_queue_add(pass->queue, pass->disk, LENT_HEADER_BYTES, &piece->op);
		disk_queue_step(pass->queue, 0);
	}
	return true;
}

bool
serve_disk_write(struct serve_conn *conn, const struct wire_request *request, struct lent *lent)
{
	struct pass pass;
	bool has_memory = pass_begin(&pass, conn, request, lent);
	bool goes_on = has_memory ? recv_writes(&pass) : serve_waste(conn, request->len_bytes);

	pass_end(&pass);
	if (!goes_on)
		return false;
	serve_leave(conn); /* once it is answered nothing of it is under way */
	if (!has_memory || pass.has_failed)
		return serve_status(conn, request, WIRE_IO);
	serve_count(conn->serve, request);
	return serve_status(conn, request, WIRE_DONE);
}
