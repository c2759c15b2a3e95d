-- SPDX-License-Identifier: Apache-2.0
-- objects.sql -- the 200 objects put last, with their copies.
--
-- For others: sqlite3 -readonly FILE "SELECT * FROM v_object WHERE shown_key GLOB 'model/*'".

.timeout 5000
.mode box --wrap 2000

SELECT object_id,
       tenant,
       shown_key,
       len_bytes,
       put_at,
       crc,
       (SELECT group_concat(coalesce(segment.name, 'segment ' || segment_id), ', ')
          FROM replica
          LEFT JOIN segment USING (segment_id)
         WHERE replica_id BETWEEN object_id * 8 AND object_id * 8 + 7) AS copies_on
  FROM v_object
 ORDER BY object_id DESC
 LIMIT 200;
