-- SPDX-License-Identifier: Apache-2.0
-- drain_outcome.sql -- how far it is, if it is still the same wish; of a cancelled one the counts stay.
UPDATE drain
   SET outcome = :outcome, outcome_at_ms = :at_ms, words = :words, job_id = coalesce(:job_id, job_id),
       n_done = coalesce(:n_done, n_done), n_failed = coalesce(:n_failed, n_failed),
       n_left = coalesce(:n_left, n_left), bytes_done = coalesce(:bytes_done, bytes_done),
       bytes_left = coalesce(:bytes_left, bytes_left)
 WHERE drain_id = :row_id AND segment = :name AND wish = :wish
   AND (outcome IS :was OR outcome = 'planned' AND :was = 'running');
