-- SPDX-License-Identifier: Apache-2.0
-- drain_load.sql -- drains that are not at their end, and those to be cancelled, a bounded number.
SELECT drain_id AS row_id, segment AS name, NULL AS key, concurrency AS value, job_id AS value2, wish, outcome
  FROM drain
 WHERE outcome IS NULL OR outcome IN ('planned', 'running')
 UNION
SELECT drain_id, segment, NULL, concurrency, job_id, wish, outcome
  FROM drain
 WHERE wish = 'cancel' AND outcome <> 'cancelled' AND outcome <> 'refused'
 ORDER BY row_id LIMIT 512;
