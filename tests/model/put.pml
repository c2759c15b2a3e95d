/* SPDX-License-Identifier: Apache-2.0 */

/*
 * put.pml -- who may touch a run of bytes, and when it may be used again.
 *
 *      One segment with one slot, which holds one object at a time.  Two writers, one reader, one
 *      provider, one master that may be killed or lose its power.  Everybody may stop anywhere for
 *      as long as it likes: the order of steps is whatever Spin can think of.
 *
 *            put_start          put_end            remove
 *      FREE ----------> PUTTING -------> COMPLETE --------> RESTING --> FREE
 *        ^                 | write lease over                  ^ |
 *        |                 +-----------------------------------+ |
 *        +------- gate open (fence confirmed), readers' leases --+
 *                 over, removal on the disk
 *
 * The law:  who reads an object, and whose lease still runs by its own clock when the last byte
 *           has come, has that object's bytes.  (Checksums would catch more; here nothing leans
 *           on them.)
 *
 * Each guard can be left out; then the law must break, or the guard would be idle:
 *
 *      -DNO_FENCE       a write lease that ran out is taken for proof
 *      -DNO_HANDLERS    the provider confirms while a request that it let in is still at work
 *      -DNO_FENCE_ID    any confirmation opens the gate, also one of an earlier order
 *      -DNO_LEASE       readers' leases are not waited for
 *      -DNO_LEASE_OF_BEFORE  nor, after a restart, those that the master does not remember
 *      -DNO_SYNC        a slot is free once its removal is committed, though not synced
 *      -DNO_CHUNK       a restart takes what the books do not name for free
 */

#define N_PUTS     3 /* objects 1..N_PUTS; an id is never used again */
#define N_RESTARTS 1
#define N_FENCES   3
#define WRITERS    2

mtype = { FREE, PUTTING, COMPLETE, RESTING };

/* ---- the provider: the bytes, and who gets at them ---- */

byte memory;            /* whose bytes lie in the slot */
byte refused[WRITERS];  /* tokens of that writer, for objects up to this one, are not accepted */
byte at_work[WRITERS];  /* a request that passed the door: it will write the bytes of this object */

/* ---- the books ---- */

byte committed, synced;              /* the object that stands in them; 0: none */
bool chunk_committed, chunk_synced;  /* somebody whom the books do not name may write in the slot */

/* ---- the master's memory ---- */

mtype slot = FREE;
byte owner;          /* of the slot: the object put, there, or resting */
byte writer;         /* PUTTING: who puts it */
byte next_id = 1;    /* (reserved in the books ahead of use) */
byte n_restarts;

byte gate;           /* the fence that is waited for, 0: none */
byte gate_writer;    /* whom it has to stop; WRITERS: all of them */
byte n_fences;       /* ids of fences are never used again */
bool is_leased;      /* some reader of the slot was promised its bytes */
bool before_leased;  /* leases of before a restart may still run */

/* ---- the reader ---- */

byte reading;        /* the object it asked for */
bool promise;        /* its lease still runs by its own clock, which always ends first */

/* ---- messages between master and provider ---- */

chan orders = [1] of { byte /* fence */, byte /* writer */ };
chan confirmed = [2] of { byte };

#ifdef NO_CHUNK
#define CHUNK_IS_OPEN true
#else
#define CHUNK_IS_OPEN (chunk_committed && chunk_synced)
#endif

#ifdef NO_LEASE
#define READERS_ARE_DONE true
#else
#define READERS_ARE_DONE (!is_leased)
#endif

#ifdef NO_LEASE_OF_BEFORE
#define READERS_OF_BEFORE_ARE_DONE true
#else
#define READERS_OF_BEFORE_ARE_DONE (!before_leased)
#endif

#ifdef NO_SYNC
#define REMOVAL_IS_SYNCED true
#else
#define REMOVAL_IS_SYNCED (synced == committed)
#endif

inline rest(needs_fence, who)
{
	slot = RESTING;
	gate = 0;
	if
	:: needs_fence ->
#ifndef NO_FENCE
		n_fences++;
		gate = n_fences;
		gate_writer = who;
#else
		skip;
#endif
	:: else
	fi
}

/* What a master knows that has just started: the books, and nothing else. */
inline start_anew()
{
	n_restarts++;
	gate = 0;
	is_leased = false;
	before_leased = true;
	owner = committed;
	if
	:: committed != 0 -> slot = COMPLETE
	:: committed == 0 && chunk_committed -> rest(true, WRITERS)
	:: else -> slot = FREE
	fi
}

active [WRITERS] proctype Writer()
{
	byte mine;

	do
	:: atomic { /* put_start */
		slot == FREE && next_id <= N_PUTS && CHUNK_IS_OPEN ->
		slot = PUTTING;
		owner = next_id;
		writer = _pid;
		mine = next_id;
		next_id++;
	   };
	   /* It looked at its lease: good.  Now it may sleep for an hour, and then write. */
	   if
	   :: atomic { mine > refused[_pid] -> at_work[_pid] = mine };
	      atomic { memory = at_work[_pid]; at_work[_pid] = 0 };
	      if
	      :: atomic { /* put_end */
			slot == PUTTING && owner == mine -> slot = COMPLETE; committed = mine
		 }
	      :: !(slot == PUTTING && owner == mine)
	      fi
	   :: atomic { mine <= refused[_pid] -> skip }
	   :: skip /* it is killed; so is what it sent, unless that has passed the door */
	   :: atomic { mine > refused[_pid] -> at_work[_pid] = mine } /* killed right behind it */
	      atomic { memory = at_work[_pid]; at_work[_pid] = 0 }
	   fi;
	   mine = 0
	od
}

active proctype Reader()
{
	byte got;

	do
	:: atomic { /* get_replica_list; its answer waits for the commit */
		slot == COMPLETE && reading == 0 ->
		reading = owner;
		promise = true;
		is_leased = true
	   };
	   got = memory;
	   atomic {
		if
		:: promise -> assert(got == reading) /* the law */
		:: else
		fi;
		got = 0;
		reading = 0;
		promise = false
	   }
	od
}

/* Time: leases end when they like, the reader's own count before the master's. */
active proctype Time()
{
	do
	:: atomic { promise -> promise = false }
	:: atomic { is_leased && !promise -> is_leased = false }
	:: atomic { before_leased && !promise -> before_leased = false }
	od
}

active proctype Provider()
{
	byte fence, who, i;

	do
	:: orders?fence, who;
	   atomic { /* no token of before is accepted any more, connections are cut */
		i = 0;
		do
		:: i < WRITERS ->
			if
			:: who == i || who == WRITERS -> refused[i] = next_id - 1
			:: else
			fi;
			i++
		:: else -> break
		od
	   };
#ifndef NO_HANDLERS
	   atomic {
		(who == 1 || at_work[0] == 0) && (who == 0 || at_work[1] == 0)
	   };
#endif
	   confirmed!fence
	od
}

active proctype Master()
{
	byte fence;

	do
	:: atomic { /* the write lease ran out */
		slot == PUTTING -> rest(true, writer)
	   }
	:: atomic { /* removed, evicted, replaced */
		slot == COMPLETE -> committed = 0; rest(false, 0)
	   }
	:: atomic { gate != 0 && empty(orders) && n_fences <= N_FENCES -> orders!gate, gate_writer }
	:: atomic {
		confirmed?fence ->
		if
#ifdef NO_FENCE_ID
		:: true -> gate = 0
#else
		:: fence == gate -> gate = 0
		:: else
#endif
		fi;
		fence = 0
	   }
	:: atomic { /* free again? */
		slot == RESTING && gate == 0 && READERS_ARE_DONE && READERS_OF_BEFORE_ARE_DONE &&
		REMOVAL_IS_SYNCED
		-> slot = FREE; owner = 0
	   }
	:: atomic { !chunk_committed -> chunk_committed = true }
	:: atomic { slot == FREE && chunk_committed && chunk_synced -> chunk_committed = false }
	:: atomic { synced != committed || chunk_synced != chunk_committed ->
		    synced = committed; chunk_synced = chunk_committed }
	:: atomic { n_restarts < N_RESTARTS -> start_anew() } /* killed */
	:: atomic { n_restarts < N_RESTARTS ->                /* its power is cut */
		    committed = synced; chunk_committed = chunk_synced; start_anew() }
	od
}
