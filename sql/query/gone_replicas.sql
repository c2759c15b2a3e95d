-- SPDX-License-Identifier: Apache-2.0
-- gone_replicas.sql -- void copies of the objects from first_id to last_id.
DELETE FROM replica
 WHERE replica_id BETWEEN :first_id * 8 AND :last_id * 8 + 7
   AND row_sum = row_sum_of(replica_id, segment_id, offset_bytes)
   AND (SELECT is_gone FROM segment WHERE segment.segment_id = replica.segment_id) = 1;
