-- SPDX-License-Identifier: Apache-2.0
-- replica_add.sql -- one copy; offset_bytes is NULL when its runs stand in extent.
INSERT INTO replica (replica_id, segment_id, offset_bytes, row_sum)
VALUES (:replica_id, :segment_id, :offset_bytes, :row_sum);
