-- SPDX-License-Identifier: Apache-2.0
-- pin_outcome.sql -- what came of it, if it is still the same wish.
UPDATE pin
   SET outcome = :outcome, outcome_at_ms = :at_ms, words = :words
 WHERE pin_id = :row_id AND tenant = :name AND kind = :wish AND ttl_ms IS :value AND outcome IS NULL;
