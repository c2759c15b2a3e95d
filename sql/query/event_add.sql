-- SPDX-License-Identifier: Apache-2.0
-- event_add.sql -- one more.
INSERT INTO event (event_id, at_ms, kind, count, bytes, subject_id, words)
VALUES (:event_id, :at_ms, :kind, :count, :bytes, :subject_id, :words);
