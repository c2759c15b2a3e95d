-- SPDX-License-Identifier: Apache-2.0
-- job_segment_remove_all.sql -- those of a job that is forgotten.
DELETE FROM job_segment WHERE job_id = :job_id;
