-- SPDX-License-Identifier: Apache-2.0
--
-- 0001_init.sql -- the books: who lends which segments, and where each object lies.
--
--      tenant --< object --< replica --< extent
--                               |
--      segment ----------------<+          open_chunk >-- segment
--
-- Written once, never edited: a later change is a later file.  Times are
-- milliseconds since 1970 (UTC), lengths and offsets are bytes.
--
-- Ids carry their owner's, so that no table needs an index beside its own tree:
--
--      replica_id = object_id * 8 + copy            copy   0..7
--      extent_id  = replica_id * 4096 + piece       piece  0..4095
--
-- All replicas of an object, and all extents of a replica, lie side by side and
-- are found by a range of ids.  There is no index on the key: the master keeps
-- one in memory, and here it would make each insert many times dearer.
--
-- An object stands here from the moment it can be read until it is removed.
-- Puts under way, leases and the order of use are not stored.

-- One row.  The columns cluster_no and schema_version stay in every later version.
CREATE TABLE cluster (
    cluster_no      INTEGER PRIMARY KEY CHECK (cluster_no = 1),
    schema_version  INTEGER NOT NULL CHECK (schema_version > 0),     -- number of the last file applied
    master_epoch    INTEGER NOT NULL CHECK (master_epoch >= 0),      -- grows by one at each start
    next_object_id  INTEGER NOT NULL
                    CHECK (next_object_id BETWEEN 1 AND 281474976710656), -- ids below it are used up
    created_at_ms   INTEGER NOT NULL CHECK (created_at_ms >= 0),
    started_at_ms   INTEGER NOT NULL CHECK (started_at_ms >= 0),     -- of the last start
    sync_no         INTEGER NOT NULL CHECK (sync_no >= 0)            -- raised to have something to sync
) STRICT;

CREATE TABLE tenant (
    tenant_id       INTEGER PRIMARY KEY CHECK (tenant_id > 0),
    name            TEXT    NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 255)
) STRICT;

INSERT INTO tenant (tenant_id, name) VALUES (1, 'default');

-- Addressable memory lent by a provider.
CREATE TABLE segment (
    segment_id      INTEGER PRIMARY KEY CHECK (segment_id > 0),
    epoch           INTEGER NOT NULL CHECK (epoch >= 0),             -- one life of its bytes
    client_id       INTEGER NOT NULL CHECK (client_id >= 0),         -- who lends it
    medium          INTEGER NOT NULL CHECK (medium BETWEEN 1 AND 3), -- 1 DRAM, 2 FILE, 3 NOF
    len_bytes       INTEGER NOT NULL CHECK (len_bytes > 0),
    mounted_at_ms   INTEGER NOT NULL CHECK (mounted_at_ms >= 0),
    name            TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) <= 512),
    host            TEXT    NOT NULL CHECK (length(CAST(host AS BLOB)) <= 512),
    endpoint        TEXT    NOT NULL CHECK (length(CAST(endpoint AS BLOB)) <= 512)
) STRICT;

-- A key's bytes, never changed once they stand here.
CREATE TABLE object (
    object_id       INTEGER PRIMARY KEY
                    CHECK (object_id BETWEEN 1 AND 281474976710655), -- 2^48 - 1; also its version
    tenant_id       INTEGER NOT NULL,
    key             BLOB    NOT NULL CHECK (length(key) BETWEEN 1 AND 1024),
    len_bytes       INTEGER NOT NULL CHECK (len_bytes BETWEEN 0 AND 17592186044416),
    put_at_ms       INTEGER NOT NULL CHECK (put_at_ms >= 0),
    crc             INTEGER CHECK (crc BETWEEN 0 AND 4294967295),    -- CRC-32C; NULL: not known
    attr            BLOB    CHECK (length(attr) BETWEEN 1 AND 4096)
) STRICT;

-- One stored copy of an object.  Nearly always it is one run of the object's
-- length: then its offset stands here.  Otherwise the runs stand in extent.
CREATE TABLE replica (
    replica_id      INTEGER PRIMARY KEY CHECK (replica_id >= 8),
    segment_id      INTEGER NOT NULL,
    offset_bytes    INTEGER CHECK (offset_bytes >= 0)                -- NULL: see extent
) STRICT;

-- A run of bytes of a replica that has none or several, in the order of the object's bytes.
CREATE TABLE extent (
    extent_id       INTEGER PRIMARY KEY CHECK (extent_id >= 32768),
    offset_bytes    INTEGER NOT NULL CHECK (offset_bytes >= 0),
    len_bytes       INTEGER NOT NULL CHECK (len_bytes > 0)
) STRICT;

-- Parts of segments in which puts that are not stored may be writing.
CREATE TABLE open_chunk (
    segment_id      INTEGER NOT NULL CHECK (segment_id > 0),
    chunk           INTEGER NOT NULL CHECK (chunk BETWEEN 0 AND 4294967295),
    PRIMARY KEY (segment_id, chunk)
) STRICT, WITHOUT ROWID;

-- ---- views, for people -----------------------------------------------------------
--
-- shown_key: the key as text, or as x'...' when a terminal might not show it as it is.

CREATE VIEW v_segment AS
SELECT segment_id,
       name,
       host,
       CASE medium WHEN 1 THEN 'DRAM' WHEN 2 THEN 'FILE' ELSE 'NOF' END AS medium,
       len_bytes,
       epoch,
       client_id,
       endpoint,
       datetime(mounted_at_ms / 1000, 'unixepoch') AS mounted_at
  FROM segment;

CREATE VIEW v_object AS
SELECT object_id,
       coalesce(tenant.name, 'tenant ' || tenant_id) AS tenant,
       CASE WHEN CAST(key AS TEXT) GLOB '*[^ -~' || char(192) || '-' || char(65532) || char(65536) || '-' || char(1114111) || ']*'
            THEN 'x''' || hex(key) || ''''
            ELSE CAST(key AS TEXT)
       END AS shown_key,
       key,
       len_bytes,
       put_at_ms,
       datetime(put_at_ms / 1000, 'unixepoch') AS put_at,
       printf('%08x', crc) AS crc,
       attr
  FROM object
  LEFT JOIN tenant USING (tenant_id);

-- Every run of bytes that is somebody's: the usual ones out of replica, the others out of extent.
CREATE VIEW v_extent AS
SELECT replica_id / 8 AS object_id,
       replica_id % 8 AS copy,
       0 AS piece,
       segment_id,
       replica.offset_bytes,
       object.len_bytes
  FROM replica
  JOIN object ON object_id = replica_id / 8
 WHERE replica.offset_bytes IS NOT NULL
   AND object.len_bytes > 0
 UNION ALL
SELECT extent_id / 32768,
       extent_id / 4096 % 8,
       extent_id % 4096,
       segment_id,
       extent.offset_bytes,
       extent.len_bytes
  FROM extent
  JOIN replica ON replica_id = extent_id / 4096;

CREATE VIEW v_replica AS
SELECT replica_id / 8 AS object_id,
       replica_id % 8 AS copy,
       v_object.tenant,
       v_object.shown_key,
       coalesce(segment.name, 'segment ' || segment_id) AS segment,
       segment.host,
       segment_id,
       v_object.len_bytes,
       CASE WHEN replica.offset_bytes IS NOT NULL THEN 1
            ELSE (SELECT count(*) FROM extent
                   WHERE extent_id BETWEEN replica_id * 4096 AND replica_id * 4096 + 4095)
       END AS n_extents
  FROM replica
  LEFT JOIN v_object ON v_object.object_id = replica_id / 8
  LEFT JOIN segment USING (segment_id);

CREATE VIEW v_open_chunk AS
SELECT coalesce(segment.name, 'segment ' || segment_id) AS segment,
       segment_id,
       chunk
  FROM open_chunk
  LEFT JOIN segment USING (segment_id);
