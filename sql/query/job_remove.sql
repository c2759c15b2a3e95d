-- SPDX-License-Identifier: Apache-2.0
-- job_remove.sql -- a job that ended long ago is forgotten.
DELETE FROM job WHERE job_id = :job_id;
