-- SPDX-License-Identifier: Apache-2.0
-- replica_slots.sql -- the numbers that an object's copies have, in order.
SELECT replica_id
  FROM replica
 WHERE replica_id BETWEEN :object_id * 8 AND :object_id * 8 + 7
 ORDER BY replica_id;
