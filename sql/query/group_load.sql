-- SPDX-License-Identifier: Apache-2.0
-- group_load.sql -- which objects are members of which groups, by object id.
SELECT object_id, group_id FROM object_group ORDER BY object_id;
