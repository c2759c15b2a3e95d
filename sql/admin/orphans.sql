-- SPDX-License-Identifier: Apache-2.0
-- orphans.sql -- rows that belong to nobody, and objects that nobody could read: finds nothing when all is well.
--
-- Those of the laws in check.sql, in the same words, that say what belongs to whom: quick enough to be
-- run while the master is busy, and with what the row should belong to.  check.sql has them all.
-- "restored" is no damage: books were put back from a backup, and the segment's provider has not come
-- yet; its objects are kept or dropped when it does.

.timeout 5000
.mode box --wrap 2000

SELECT what, id, belongs_to
  FROM (SELECT 'a replica has no object' AS what, replica_id AS id, 'object ' || replica_id / 8 AS belongs_to
          FROM replica
          LEFT JOIN object ON object_id = replica_id / 8
         WHERE object_id IS NULL
         UNION ALL
        SELECT 'a replica has no segment', replica_id, 'segment ' || replica.segment_id
          FROM replica
          LEFT JOIN segment USING (segment_id)
         WHERE segment.segment_id IS NULL
         UNION ALL
        SELECT 'an extent has no replica', extent_id, 'copy ' || extent_id / 4096
          FROM extent
          LEFT JOIN replica ON replica_id = extent_id / 4096
         WHERE replica_id IS NULL
         UNION ALL
        SELECT 'an open chunk has no segment', chunk, 'segment ' || open_chunk.segment_id
          FROM open_chunk
          LEFT JOIN segment USING (segment_id)
         WHERE segment.segment_id IS NULL
         UNION ALL
        SELECT 'an object has no replica', object_id, 'tenant ' || tenant_id
          FROM object
         WHERE len_bytes > 0
           AND NOT EXISTS (SELECT 1 FROM replica WHERE replica_id BETWEEN object_id * 8 AND object_id * 8 + 7)
         UNION ALL
        SELECT 'an object has no tenant', object_id, 'tenant ' || object.tenant_id
          FROM object
          LEFT JOIN tenant USING (tenant_id)
         WHERE tenant.tenant_id IS NULL
         UNION ALL
        SELECT 'restored', segment_id, count(replica_id) || ' copies on ' || name
          FROM segment
          LEFT JOIN replica USING (segment_id)
         WHERE trusted_epoch IS NOT NULL
         GROUP BY segment_id)
 ORDER BY what, id
 LIMIT 1000;
