-- SPDX-License-Identifier: Apache-2.0
-- event_load.sql -- every event, by id.
SELECT event_id, at_ms, kind, count, bytes, subject_id, words FROM event ORDER BY event_id;
