-- SPDX-License-Identifier: Apache-2.0
--
-- 0006_task.sql -- tasks that copy and move objects, and jobs that drain segments.
--
--      job --< job_segment          job --< task >-- object
--
-- Ids of tasks and jobs are out of the same numbers as those of objects, and are
-- never used twice.  A job's tasks stand here only when they failed: the others are
-- found again from what still lies in its segments.

-- Is it being emptied?  0 no, 1 draining, 2 drained: no new data in both.
ALTER TABLE segment ADD COLUMN drain INTEGER NOT NULL DEFAULT 0 CHECK (drain BETWEEN 0 AND 2);

CREATE TABLE task (
    task_id         INTEGER PRIMARY KEY CHECK (task_id BETWEEN 1 AND 281474976710655),
    job_id          INTEGER NOT NULL CHECK (job_id >= 0),             -- 0: none
    kind            INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 2),    -- 1 copy, 2 move
    state           INTEGER NOT NULL CHECK (state BETWEEN 1 AND 6),   -- 1 waiting, 2 offered, 3 running, 4 done, 5 failed, 6 cancelled
    tries           INTEGER NOT NULL CHECK (tries BETWEEN 0 AND 255), -- that have failed
    reason          INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 65535), -- status of the last of them
    object_id       INTEGER NOT NULL CHECK (object_id >= 1),
    len_bytes       INTEGER NOT NULL CHECK (len_bytes >= 0),
    from_id         INTEGER NOT NULL CHECK (from_id >= 0),            -- segment; 0: it keeps all its copies
    to_id           INTEGER NOT NULL CHECK (to_id >= 0),              -- segment; 0: not chosen yet
    made_at_ms      INTEGER NOT NULL CHECK (made_at_ms >= 0),
    ended_at_ms     INTEGER NOT NULL CHECK (ended_at_ms >= 0),        -- 0: it has not ended
    key             BLOB    NOT NULL CHECK (length(key) BETWEEN 1 AND 1024)
) STRICT;

CREATE TABLE job (
    job_id          INTEGER PRIMARY KEY CHECK (job_id BETWEEN 1 AND 281474976710655),
    state           INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4),   -- 1 running, 2 succeeded, 3 failed, 4 cancelled
    reason          INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 65535), -- status of the last task that failed for good
    concurrency     INTEGER NOT NULL CHECK (concurrency BETWEEN 1 AND 256),
    n_done          INTEGER NOT NULL CHECK (n_done >= 0),             -- objects that have left
    n_failed        INTEGER NOT NULL CHECK (n_failed >= 0),
    bytes_done      INTEGER NOT NULL CHECK (bytes_done >= 0),
    bytes_failed    INTEGER NOT NULL CHECK (bytes_failed >= 0),
    made_at_ms      INTEGER NOT NULL CHECK (made_at_ms >= 0),
    ended_at_ms     INTEGER NOT NULL CHECK (ended_at_ms >= 0)         -- 0: it has not ended
) STRICT;

CREATE TABLE job_segment (
    job_id          INTEGER NOT NULL CHECK (job_id >= 1),
    is_target       INTEGER NOT NULL CHECK (is_target BETWEEN 0 AND 1), -- 1: objects go there, 0: it is drained
    segment_id      INTEGER NOT NULL CHECK (segment_id > 0),
    PRIMARY KEY (job_id, is_target, segment_id)
) STRICT, WITHOUT ROWID;

-- ---- views, for people -----------------------------------------------------------

CREATE VIEW v_task AS
SELECT task_id,
       job_id,
       CASE kind WHEN 1 THEN 'copy' ELSE 'move' END AS kind,
       CASE state WHEN 1 THEN 'waiting' WHEN 2 THEN 'offered' WHEN 3 THEN 'running'
                  WHEN 4 THEN 'done' WHEN 5 THEN 'failed' ELSE 'cancelled' END AS state,
       tries,
       reason,
       object_id,
       task.len_bytes,
       CASE from_id WHEN 0 THEN NULL ELSE coalesce(was.name, 'segment ' || from_id) END AS from_segment,
       CASE to_id WHEN 0 THEN NULL ELSE coalesce(goal.name, 'segment ' || to_id) END AS to_segment,
       datetime(made_at_ms / 1000, 'unixepoch') AS made_at,
       CASE ended_at_ms WHEN 0 THEN NULL ELSE datetime(ended_at_ms / 1000, 'unixepoch') END AS ended_at,
       CASE WHEN CAST(key AS TEXT) GLOB '*[^ -~' || char(192) || '-' || char(65532) || char(65536) || '-' || char(1114111) || ']*'
            THEN 'x''' || hex(key) || ''''
            ELSE CAST(key AS TEXT)
       END AS shown_key,
       key
  FROM task
  LEFT JOIN segment AS was ON was.segment_id = from_id
  LEFT JOIN segment AS goal ON goal.segment_id = to_id;

CREATE VIEW v_job AS
SELECT job_id,
       CASE state WHEN 1 THEN 'running' WHEN 2 THEN 'succeeded' WHEN 3 THEN 'failed'
                  ELSE 'cancelled' END AS state,
       (SELECT group_concat(coalesce(segment.name, 'segment ' || job_segment.segment_id), ' ')
          FROM job_segment
          LEFT JOIN segment USING (segment_id)
         WHERE job_segment.job_id = job.job_id AND is_target = 0) AS segments,
       (SELECT group_concat(coalesce(segment.name, 'segment ' || job_segment.segment_id), ' ')
          FROM job_segment
          LEFT JOIN segment USING (segment_id)
         WHERE job_segment.job_id = job.job_id AND is_target = 1) AS targets,
       n_done,
       n_failed,
       bytes_done,
       bytes_failed,
       concurrency,
       reason,
       datetime(made_at_ms / 1000, 'unixepoch') AS made_at,
       CASE ended_at_ms WHEN 0 THEN NULL ELSE datetime(ended_at_ms / 1000, 'unixepoch') END AS ended_at
  FROM job;
