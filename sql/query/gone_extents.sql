-- SPDX-License-Identifier: Apache-2.0
-- gone_extents.sql -- the runs of void copies, of the objects from first_id to last_id.
DELETE FROM extent
 WHERE extent_id BETWEEN :first_id * 32768 AND :last_id * 32768 + 32767
   AND (SELECT is_gone
          FROM replica
          JOIN segment USING (segment_id)
         WHERE replica_id = extent_id / 4096
           AND replica.row_sum = row_sum_of(replica_id, segment_id, replica.offset_bytes)) = 1;
