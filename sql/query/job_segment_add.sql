-- SPDX-License-Identifier: Apache-2.0
-- job_segment_add.sql -- a segment that a job drains, or moves to.
INSERT INTO job_segment (job_id, is_target, segment_id)
VALUES (:job_id, :is_target, :segment_id)
ON CONFLICT (job_id, is_target, segment_id) DO NOTHING;
