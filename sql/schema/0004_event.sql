-- SPDX-License-Identifier: Apache-2.0
--
-- 0004_event.sql -- what happened, for people: a ring of the last ones (option events_max).
--
-- What happens often is gathered: one row a second and kind, with how often and how many bytes.
-- No other table depends on it.

CREATE TABLE event (
    event_id        INTEGER PRIMARY KEY CHECK (event_id > 0),
    at_ms           INTEGER NOT NULL CHECK (at_ms >= 0),
    kind            TEXT    NOT NULL CHECK (length(CAST(kind AS BLOB)) BETWEEN 1 AND 64),
    count           INTEGER NOT NULL CHECK (count > 0),
    bytes           INTEGER NOT NULL CHECK (bytes >= 0),
    subject_id      INTEGER NOT NULL CHECK (subject_id >= 0),        -- of one segment, client...; 0: of none, or of several
    words           TEXT    NOT NULL CHECK (length(CAST(words AS BLOB)) <= 512)
) STRICT;

CREATE VIEW v_event AS
SELECT event_id,
       datetime(at_ms / 1000, 'unixepoch') AS at,
       kind,
       count,
       bytes,
       subject_id,
       words
  FROM event;
