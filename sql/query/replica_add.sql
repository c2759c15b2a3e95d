-- SPDX-License-Identifier: Apache-2.0
-- replica_add.sql -- copies; offset_bytes is NULL when the runs of one stand in extent.
INSERT INTO replica (replica_id, segment_id, offset_bytes, row_sum)
SELECT replica_id, segment_id, offset_bytes, row_sum
  FROM added_replica;
