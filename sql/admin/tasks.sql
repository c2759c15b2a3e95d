-- SPDX-License-Identifier: Apache-2.0
-- tasks.sql -- drains and their progress, then single tasks, the latest first.
--
-- As stored: a drain's tasks stand here when they failed, others when they were asked for by name.
-- Reasons are the statuses of tiffin-protocol(7).  What is under way just now: tiffin task.

.timeout 5000
.mode box --wrap 2000

SELECT job_id,
       state,
       segments,
       coalesce(targets, 'any') AS targets,
       n_done AS moved,
       printf('%.1f MiB', bytes_done / 1048576.0) AS moved_bytes,
       n_failed AS failed,
       CASE reason WHEN 0 THEN '' ELSE reason END AS reason,
       made_at,
       coalesce(ended_at, '') AS ended_at
  FROM v_job
 ORDER BY job_id DESC
 LIMIT 100;

SELECT task_id,
       CASE job_id WHEN 0 THEN '' ELSE job_id END AS job,
       kind,
       state,
       tries,
       CASE reason WHEN 0 THEN '' ELSE reason END AS reason,
       coalesce(from_segment, '') AS from_segment,
       coalesce(to_segment, 'any') AS to_segment,
       len_bytes,
       made_at,
       coalesce(ended_at, '') AS ended_at,
       shown_key
  FROM v_task
 ORDER BY task_id DESC
 LIMIT 100;
