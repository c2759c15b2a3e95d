-- SPDX-License-Identifier: Apache-2.0
--
-- 0002_pin_drain.sql -- pins and drains by plain SQL.
--
--      pin      carried out once, on the object that the key names then
--      drain    outcome:  NULL --> planned --> running --> done
--                          |          |           |   +--> failed
--                          |          +-----------+------> cancelled (wish = 'cancel')
--                          +--> refused

PRAGMA user_version = 2;

-- What becomes of an object when room is wanted; 'none' takes a pin back.
CREATE TABLE pin (
    pin_id          INTEGER PRIMARY KEY,
    tenant          TEXT    NOT NULL DEFAULT 'default' CHECK (length(CAST(tenant AS BLOB)) BETWEEN 1 AND 255),
    key             ANY     NOT NULL CHECK (typeof(key) IN ('text', 'blob')
                                            AND length(CAST(key AS BLOB)) BETWEEN 1 AND 1024
                                            AND instr(CAST(key AS BLOB), x'00') = 0),
    kind            TEXT    NOT NULL CHECK (kind IN ('soft', 'hard', 'none')),
    ttl_ms          INTEGER CHECK (ttl_ms BETWEEN 1 AND 86400000),   -- of a soft one; NULL: 1800000
    outcome         TEXT    CHECK (outcome IN ('done', 'refused')),
    outcome_at_ms   INTEGER CHECK (outcome_at_ms >= 0),
    words           TEXT,
    CHECK (ttl_ms IS NULL OR kind = 'soft')
) STRICT;

-- A key as text and the same bytes as a blob are one key.
CREATE UNIQUE INDEX pin_key ON pin (tenant, CAST(key AS BLOB));

-- All that lies in a segment moves elsewhere; with wish = 'cancel' the segment takes new data again.
CREATE TABLE drain (
    drain_id        INTEGER PRIMARY KEY,
    segment         TEXT    NOT NULL CHECK (length(CAST(segment AS BLOB)) BETWEEN 1 AND 255),  -- name or id
    concurrency     INTEGER NOT NULL DEFAULT 16 CHECK (concurrency BETWEEN 1 AND 256),   -- objects moved at once
    wish            TEXT    NOT NULL DEFAULT 'drain' CHECK (wish IN ('drain', 'cancel')),
    outcome         TEXT    CHECK (outcome IN ('planned', 'running', 'done', 'failed', 'cancelled', 'refused')),
    outcome_at_ms   INTEGER CHECK (outcome_at_ms >= 0),
    words           TEXT,
    job_id          INTEGER CHECK (job_id > 0),                      -- as `tiffin task` tells it
    n_done          INTEGER CHECK (n_done >= 0),                     -- objects that have left
    n_failed        INTEGER CHECK (n_failed >= 0),                   -- objects that can't leave
    n_left          INTEGER CHECK (n_left >= 0),                     -- copies that lie there still
    bytes_done      INTEGER CHECK (bytes_done >= 0),
    bytes_left      INTEGER CHECK (bytes_left >= 0)
) STRICT;

-- What the master looks at; those that have ended may be many.
CREATE INDEX drain_open ON drain (drain_id) WHERE outcome IS NULL OR outcome IN ('planned', 'running');
CREATE INDEX drain_cancel ON drain (drain_id) WHERE wish = 'cancel' AND outcome <> 'cancelled' AND outcome <> 'refused';
CREATE INDEX pin_open ON pin (pin_id) WHERE outcome IS NULL;

-- ---- nonsense is refused where it is written -------------------------------------

CREATE TRIGGER pin_insert BEFORE INSERT ON pin
BEGIN
    SELECT RAISE(ABORT, 'outcome is written by the master alone')
     WHERE NEW.outcome IS NOT NULL;
END;

CREATE TRIGGER pin_update BEFORE UPDATE OF tenant, key ON pin
BEGIN
    SELECT RAISE(ABORT, 'tenant and key stay: delete the row and insert another')
     WHERE NEW.tenant <> OLD.tenant OR CAST(NEW.key AS BLOB) <> CAST(OLD.key AS BLOB);
END;

CREATE TRIGGER pin_again AFTER UPDATE OF kind, ttl_ms ON pin
BEGIN
    UPDATE pin SET outcome = NULL, outcome_at_ms = NULL, words = NULL WHERE pin_id = NEW.pin_id;
END;

CREATE TRIGGER drain_insert BEFORE INSERT ON drain
BEGIN
    SELECT RAISE(ABORT, 'outcome is written by the master alone')
     WHERE NEW.outcome IS NOT NULL OR NEW.job_id IS NOT NULL;
    SELECT RAISE(ABORT, 'a drain is cancelled by UPDATE drain SET wish = ''cancel'' of its row')
     WHERE NEW.wish = 'cancel';
    SELECT RAISE(ABORT, 'that segment is drained already: SELECT * FROM drain WHERE outcome IS NULL OR outcome IN (''planned'', ''running'')')
      FROM drain
     WHERE (outcome IS NULL OR outcome IN ('planned', 'running')) AND segment = NEW.segment;
    SELECT RAISE(ABORT, '256 drains are open: wait until some have ended')
     WHERE (SELECT count(*) FROM drain WHERE outcome IS NULL OR outcome IN ('planned', 'running')) >= 256;
END;

CREATE TRIGGER drain_update BEFORE UPDATE OF segment, concurrency ON drain
BEGIN
    SELECT RAISE(ABORT, 'the segment stays: insert another row')
     WHERE NEW.segment <> OLD.segment;
    SELECT RAISE(ABORT, 'the drain is under way: UPDATE drain SET wish = ''cancel'' first, and change it when it is cancelled')
     WHERE NEW.concurrency <> OLD.concurrency AND OLD.outcome IN ('planned', 'running');
END;

CREATE TRIGGER drain_wish BEFORE UPDATE OF wish ON drain
BEGIN
    SELECT RAISE(ABORT, 'it is being cancelled: wait until its outcome says so')
     WHERE OLD.wish = 'cancel' AND NEW.wish = 'drain' AND OLD.outcome NOT IN ('cancelled', 'refused');
END;

CREATE TRIGGER drain_again AFTER UPDATE OF wish, concurrency ON drain
WHEN NEW.wish = 'drain' AND (OLD.wish <> NEW.wish OR OLD.concurrency <> NEW.concurrency)
BEGIN
    UPDATE drain
       SET outcome = NULL, outcome_at_ms = NULL, words = NULL, job_id = NULL,
           n_done = NULL, n_failed = NULL, n_left = NULL, bytes_done = NULL, bytes_left = NULL
     WHERE drain_id = NEW.drain_id;
END;

CREATE TRIGGER drain_delete BEFORE DELETE ON drain
BEGIN
    SELECT RAISE(ABORT, 'the drain is under way: UPDATE drain SET wish = ''cancel'' first')
     WHERE OLD.outcome IN ('planned', 'running');
END;
