-- SPDX-License-Identifier: Apache-2.0
-- chunks.sql -- parts of segments that may be being written by puts that are not stored.
--
-- After a restart their free space rests until no writer of before can be alive.

.timeout 5000
.mode box --wrap 2000

SELECT segment,
       segment_id,
       count(*) AS open_chunks,
       min(chunk) AS first,
       max(chunk) AS last
  FROM v_open_chunk
 GROUP BY segment_id
 ORDER BY segment;
