-- SPDX-License-Identifier: Apache-2.0
-- job_set.sql -- a job is made, or has come further.
INSERT INTO job (job_id, state, reason, concurrency, n_done, n_failed, bytes_done, bytes_failed,
                 made_at_ms, ended_at_ms)
VALUES (:job_id, :state, :reason, :concurrency, :n_done, :n_failed, :bytes_done, :bytes_failed,
        :made_at_ms, :ended_at_ms)
ON CONFLICT (job_id) DO UPDATE
   SET state = excluded.state,
       reason = excluded.reason,
       n_done = excluded.n_done,
       n_failed = excluded.n_failed,
       bytes_done = excluded.bytes_done,
       bytes_failed = excluded.bytes_failed,
       ended_at_ms = excluded.ended_at_ms;
