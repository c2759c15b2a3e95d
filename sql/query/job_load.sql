-- SPDX-License-Identifier: Apache-2.0
-- job_load.sql -- every job, by id.
SELECT job_id, state, reason, concurrency, n_done, n_failed, bytes_done, bytes_failed,
       made_at_ms, ended_at_ms
  FROM job
 ORDER BY job_id;
