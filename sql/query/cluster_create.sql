-- SPDX-License-Identifier: Apache-2.0
-- cluster_create.sql -- the one row of a database that has just been made.
INSERT INTO cluster (cluster_no, schema_version, master_epoch, next_object_id,
                     created_at_ms, started_at_ms, sync_no)
VALUES (1, 1, 0, 1, :now_ms, :now_ms, 0);
