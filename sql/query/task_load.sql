-- SPDX-License-Identifier: Apache-2.0
-- task_load.sql -- every task, by id.
SELECT task_id, job_id, kind, state, tries, reason, object_id, len_bytes,
       from_id, to_id, made_at_ms, ended_at_ms, key
  FROM task
 ORDER BY task_id;
