-- SPDX-License-Identifier: Apache-2.0
-- group_add.sql -- an object is a member of a group.
INSERT INTO object_group (object_id, group_id) VALUES (:object_id, :group_id);
