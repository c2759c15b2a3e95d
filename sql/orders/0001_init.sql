-- SPDX-License-Identifier: Apache-2.0
--
-- 0001_init.sql -- what an administrator may order by plain SQL: a small database beside the books.
--
-- Write a row in a short transaction; the master obeys within a second, and writes into the same
-- row what came of it:
--
--      outcome         NULL: not read yet; 'done' or 'refused'
--      outcome_at_ms   when, milliseconds since 1970 (UTC)
--      words           why it was refused, or what it changed
--
-- A row whose wishes are changed is read again.

PRAGMA application_id = 1414088271; -- "TIFO"
PRAGMA user_version = 1;

-- Settings that can change while the master works; the master writes this at each start.
CREATE TABLE known_setting (
    name            TEXT    PRIMARY KEY,
    unit            TEXT    NOT NULL,
    least           INTEGER NOT NULL,
    most            INTEGER NOT NULL,
    configured      INTEGER NOT NULL,                                -- by command line, file or default
    help            TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- In force as long as the row is there, also after a restart; without it: as configured.
CREATE TABLE setting (
    name            TEXT    PRIMARY KEY,
    value           INTEGER NOT NULL,                                -- in the unit that known_setting tells
    outcome         TEXT    CHECK (outcome IN ('done', 'refused')),
    outcome_at_ms   INTEGER CHECK (outcome_at_ms >= 0),
    words           TEXT
) STRICT;

-- What a tenant may hold; the tenant is made when it is not there.  NULL: as it was, 0: no limit.
CREATE TABLE quota (
    tenant          TEXT    PRIMARY KEY CHECK (length(CAST(tenant AS BLOB)) BETWEEN 1 AND 255),
    quota_bytes     INTEGER CHECK (quota_bytes >= 0),
    quota_objects   INTEGER CHECK (quota_objects >= 0),
    outcome         TEXT    CHECK (outcome IN ('done', 'refused')),
    outcome_at_ms   INTEGER CHECK (outcome_at_ms >= 0),
    words           TEXT,
    CHECK (quota_bytes IS NOT NULL OR quota_objects IS NOT NULL)
) STRICT;

-- ---- nonsense is refused where it is written -------------------------------------

CREATE TRIGGER setting_insert BEFORE INSERT ON setting
BEGIN
    SELECT RAISE(ABORT, 'no setting of that name can change while the master works: SELECT * FROM known_setting')
     WHERE NOT EXISTS (SELECT 1 FROM known_setting WHERE name = NEW.name);
    SELECT RAISE(ABORT, 'the value is out of range: SELECT name, unit, least, most FROM known_setting')
      FROM known_setting
     WHERE name = NEW.name AND NEW.value NOT BETWEEN least AND most;
    SELECT RAISE(ABORT, 'outcome is written by the master alone')
     WHERE NEW.outcome IS NOT NULL;
END;

CREATE TRIGGER setting_update BEFORE UPDATE OF name, value ON setting
BEGIN
    SELECT RAISE(ABORT, 'the name stays: delete the row and insert another')
     WHERE NEW.name <> OLD.name;
    SELECT RAISE(ABORT, 'the value is out of range: SELECT name, unit, least, most FROM known_setting')
      FROM known_setting
     WHERE name = NEW.name AND NEW.value NOT BETWEEN least AND most;
END;

CREATE TRIGGER setting_again AFTER UPDATE OF value ON setting
BEGIN
    UPDATE setting SET outcome = NULL, outcome_at_ms = NULL, words = NULL WHERE name = NEW.name;
END;

CREATE TRIGGER quota_insert BEFORE INSERT ON quota
BEGIN
    SELECT RAISE(ABORT, 'outcome is written by the master alone')
     WHERE NEW.outcome IS NOT NULL;
END;

CREATE TRIGGER quota_update BEFORE UPDATE OF tenant ON quota
BEGIN
    SELECT RAISE(ABORT, 'the tenant stays: delete the row and insert another')
     WHERE NEW.tenant <> OLD.tenant;
END;

CREATE TRIGGER quota_again AFTER UPDATE OF quota_bytes, quota_objects ON quota
BEGIN
    UPDATE quota SET outcome = NULL, outcome_at_ms = NULL, words = NULL WHERE tenant = NEW.tenant;
END;
