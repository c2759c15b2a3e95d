-- SPDX-License-Identifier: Apache-2.0
-- fragmentation.sql -- the holes between stored extents of each segment.
--
-- "in longest" is the share of the free bytes that one put could get in one piece; "pieces" are the
-- extents of copies that did not fit in one.  Space of puts under way counts as free here.

.timeout 5000
.mode box --wrap 2000

WITH run AS (
    SELECT segment_id, offset_bytes, len_bytes FROM v_extent
     UNION ALL
    SELECT segment_id, len_bytes, 0 FROM segment
),
hole AS (
    SELECT segment_id,
           offset_bytes - coalesce(max(offset_bytes + len_bytes) OVER (
               PARTITION BY segment_id ORDER BY offset_bytes
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS hole_bytes
      FROM run
)
SELECT v_segment.name AS segment,
       v_segment.host,
       sum(hole_bytes >= 512) AS holes,
       printf('%.1f MiB', sum(hole_bytes) / 1048576.0) AS free,
       printf('%.1f MiB', max(hole_bytes) / 1048576.0) AS longest,
       printf('%.1f %%', 100.0 * max(hole_bytes) / max(sum(hole_bytes), 1)) AS in_longest,
       (SELECT count(*) FROM extent JOIN replica ON replica_id = extent_id / 4096
         WHERE replica.segment_id = hole.segment_id) AS pieces
  FROM hole
  JOIN v_segment USING (segment_id)
 GROUP BY hole.segment_id
 ORDER BY v_segment.host, v_segment.name;
