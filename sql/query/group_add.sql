-- SPDX-License-Identifier: Apache-2.0
-- group_add.sql -- objects are members of groups.
INSERT INTO object_group (object_id, group_id)
SELECT object_id, group_id
  FROM added_group;
