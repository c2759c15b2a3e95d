-- SPDX-License-Identifier: Apache-2.0
-- quota_outcome.sql -- what came of it, if it is still the same wish.
UPDATE quota
   SET outcome = :outcome, outcome_at_ms = :at_ms, words = :words
 WHERE tenant = :name AND quota_bytes IS :value AND quota_objects IS :value2 AND outcome IS NULL;
