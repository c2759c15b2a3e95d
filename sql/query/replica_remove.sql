-- SPDX-License-Identifier: Apache-2.0
-- replica_remove.sql -- the copy of one object on one segment.  Rows: the id it had.
DELETE FROM replica
 WHERE replica_id BETWEEN :object_id * 8 AND :object_id * 8 + 7
   AND segment_id = :segment_id
RETURNING replica_id;
