-- SPDX-License-Identifier: Apache-2.0
-- setting_outcome.sql -- what came of it, if it is still the same wish.
UPDATE setting
   SET outcome = :outcome, outcome_at_ms = :at_ms, words = :words
 WHERE name = :name AND value IS :value AND outcome IS NULL;
