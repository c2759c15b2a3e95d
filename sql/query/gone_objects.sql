-- SPDX-License-Identifier: Apache-2.0
-- gone_objects.sql -- objects from first_id to last_id that have void copies alone.  A row that does not bear its
-- sum makes no copy void: the next start judges it.
DELETE FROM object
 WHERE object_id BETWEEN :first_id AND :last_id
   AND (SELECT min(CASE row_sum WHEN row_sum_of(replica_id, segment_id, offset_bytes) THEN is_gone ELSE 0 END)
          FROM replica
          LEFT JOIN segment USING (segment_id)
         WHERE replica_id BETWEEN object_id * 8 AND object_id * 8 + 7) = 1;
