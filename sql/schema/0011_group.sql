-- SPDX-License-Identifier: Apache-2.0
--
-- 0011_group.sql -- objects that are of use together, and go for room together.
--
-- A row for each object that was put with a group; most have none.  Groups of the same id are one
-- as far as they are of one tenant.  A group stands nowhere but in the rows of its members.

CREATE TABLE object_group (
    object_id       INTEGER PRIMARY KEY CHECK (object_id BETWEEN 1 AND 281474976710655),
    group_id        BLOB    NOT NULL CHECK (length(group_id) BETWEEN 1 AND 255)
) STRICT;

-- Whatever takes the object away takes its row here.
CREATE TRIGGER object_group_leave AFTER DELETE ON object
BEGIN
    DELETE FROM object_group WHERE object_id = OLD.object_id;
END;

-- shown_group: as shown_key.
CREATE VIEW v_group AS
SELECT object_id,
       v_object.tenant,
       CASE WHEN CAST(group_id AS TEXT) GLOB '*[^ -~' || char(192) || '-' || char(65532) || char(65536) || '-' || char(1114111) || ']*'
            THEN 'x''' || hex(group_id) || ''''
            ELSE CAST(group_id AS TEXT)
       END AS shown_group,
       group_id,
       v_object.shown_key,
       v_object.key,
       v_object.len_bytes
  FROM object_group
  JOIN v_object USING (object_id);
