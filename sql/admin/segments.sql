-- SPDX-License-Identifier: Apache-2.0
-- segments.sql -- who lends what, and how full it is.
--
-- "used" is what stored objects take; space of puts under way, or at rest, is known to the
-- master only: tiffin segments.

.timeout 5000
.mode box --wrap 2000

SELECT segment_id,
       name,
       host,
       medium,
       printf('%.1f MiB', v_segment.len_bytes / 1048576.0) AS lent,
       printf('%.1f MiB', coalesce(used_bytes, 0) / 1048576.0) AS used,
       printf('%.1f %%', 100.0 * coalesce(used_bytes, 0) / v_segment.len_bytes) AS full,
       coalesce(n_extents, 0) AS extents,
       epoch,
       mounted_at,
       endpoint
  FROM v_segment
  LEFT JOIN (SELECT segment_id, sum(len_bytes) AS used_bytes, count(*) AS n_extents
               FROM v_extent
              GROUP BY segment_id) USING (segment_id)
 ORDER BY host, name;
