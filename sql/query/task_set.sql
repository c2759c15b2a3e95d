-- SPDX-License-Identifier: Apache-2.0
-- task_set.sql -- a task is made, or has ended.
INSERT INTO task (task_id, job_id, kind, state, tries, reason, object_id, len_bytes,
                  from_id, to_id, made_at_ms, ended_at_ms, key)
VALUES (:task_id, :job_id, :kind, :state, :tries, :reason, :object_id, :len_bytes,
        :from_id, :to_id, :made_at_ms, :ended_at_ms, :key)
ON CONFLICT (task_id) DO UPDATE
   SET state = excluded.state,
       tries = excluded.tries,
       reason = excluded.reason,
       to_id = excluded.to_id,
       ended_at_ms = excluded.ended_at_ms;
