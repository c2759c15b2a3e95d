-- SPDX-License-Identifier: Apache-2.0
-- gone_objects.sql -- objects from first_id to last_id that have void copies alone.
DELETE FROM object
 WHERE object_id BETWEEN :first_id AND :last_id
   AND (SELECT min(is_gone)
          FROM replica
          JOIN segment USING (segment_id)
         WHERE replica_id BETWEEN object_id * 8 AND object_id * 8 + 7) = 1;
