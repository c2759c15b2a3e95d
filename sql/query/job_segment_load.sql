-- SPDX-License-Identifier: Apache-2.0
-- job_segment_load.sql -- every segment of every job, targets last.
SELECT job_id, is_target, segment_id
  FROM job_segment
 ORDER BY job_id, is_target, segment_id;
