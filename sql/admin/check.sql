-- SPDX-License-Identifier: Apache-2.0
-- check.sql -- every law of the books; finds nothing when all is well.
--
-- Each row: the law that is broken, the id of the row that breaks it, and more words.
-- It reads everything: allow about 5 us an object.  The sums of rows are judged by the master, when it
-- starts: the shell of SQLite has no CRC-32C.

.timeout 5000
.mode box --wrap 2000

SELECT law, id, detail FROM (

-- The file itself, page by page.
SELECT 'the file is damaged' AS law, NULL AS id, quick_check AS detail
  FROM pragma_quick_check
 WHERE quick_check <> 'ok'

UNION ALL
SELECT 'there is not one cluster row', NULL, count(*) || ' rows'
  FROM cluster
HAVING count(*) <> 1

-- The CHECKs of the schema once more: a connection that can't write leaves them out.
UNION ALL
SELECT 'a value is out of range', cluster_no, 'cluster'
  FROM cluster
 WHERE longest_lease_ms NOT BETWEEN 0 AND 600000

UNION ALL
SELECT 'a value is out of range', object_id, 'object'
  FROM object
 WHERE object_id NOT BETWEEN 1 AND 281474976710655
    OR length(key) NOT BETWEEN 1 AND 1024
    OR len_bytes NOT BETWEEN 0 AND 17592186044416
    OR put_at_ms < 0
    OR crc NOT BETWEEN 0 AND 4294967295
    OR length(attr) NOT BETWEEN 1 AND 4096
    OR pinned_until_s NOT BETWEEN 1 AND 4294967295

UNION ALL
SELECT 'a value is out of range', object_id, 'object_group'
  FROM object_group
 WHERE object_id NOT BETWEEN 1 AND 281474976710655
    OR length(group_id) NOT BETWEEN 1 AND 255

UNION ALL
SELECT 'a value is out of range', replica_id, 'replica'
  FROM replica
 WHERE replica_id < 8
    OR offset_bytes < 0

UNION ALL
SELECT 'a value is out of range', extent_id, 'extent'
  FROM extent
 WHERE extent_id < 32768
    OR offset_bytes < 0
    OR len_bytes <= 0

UNION ALL
SELECT 'a value is out of range', segment_id, 'segment'
  FROM segment
 WHERE segment_id <= 0
    OR epoch < 0
    OR client_id < 0
    OR medium NOT BETWEEN 1 AND 3
    OR len_bytes <= 0
    OR mounted_at_ms < 0
    OR drain NOT BETWEEN 0 AND 2
    OR is_gone NOT BETWEEN 0 AND 1

UNION ALL
SELECT 'a value is out of range', task_id, 'task'
  FROM task
 WHERE task_id NOT BETWEEN 1 AND 281474976710655
    OR job_id < 0
    OR kind NOT BETWEEN 1 AND 2
    OR state NOT BETWEEN 1 AND 6
    OR tries NOT BETWEEN 0 AND 255
    OR reason NOT BETWEEN 0 AND 65535
    OR object_id < 1
    OR len_bytes < 0
    OR from_id < 0
    OR to_id < 0
    OR made_at_ms < 0
    OR ended_at_ms < 0
    OR length(key) NOT BETWEEN 1 AND 1024

UNION ALL
SELECT 'a value is out of range', job_id, 'job'
  FROM job
 WHERE job_id NOT BETWEEN 1 AND 281474976710655
    OR state NOT BETWEEN 1 AND 4
    OR reason NOT BETWEEN 0 AND 65535
    OR concurrency NOT BETWEEN 1 AND 256
    OR n_done < 0
    OR n_failed < 0
    OR bytes_done < 0
    OR bytes_failed < 0
    OR made_at_ms < 0
    OR ended_at_ms < 0

UNION ALL
SELECT 'a value is out of range', job_id, 'segment ' || segment_id || ' of a job'
  FROM job_segment
 WHERE is_target NOT BETWEEN 0 AND 1
    OR segment_id <= 0

UNION ALL
SELECT 'a value is out of range', tenant_id, 'tenant'
  FROM tenant
 WHERE tenant_id <= 0
    OR length(name) NOT BETWEEN 1 AND 255
    OR name GLOB '*[^!-~]*'
    OR substr(name, 1, 1) = '_'
    OR quota_bytes < 0
    OR quota_objects < 0

UNION ALL
SELECT 'a value is out of range', segment_id, 'chunk ' || chunk
  FROM open_chunk
 WHERE chunk NOT BETWEEN 0 AND 4294967295

UNION ALL
SELECT 'a value is out of range', event_id, 'event'
  FROM event
 WHERE event_id <= 0
    OR at_ms < 0
    OR count <= 0
    OR bytes < 0
    OR subject_id < 0

-- Whose bytes are they?
UNION ALL
SELECT 'two extents overlap', object_id,
       'segment ' || segment_id || ' at ' || offset_bytes || ', taken up to ' || taken_up_to
  FROM (SELECT object_id, segment_id, offset_bytes,
               max(offset_bytes + len_bytes) OVER (
                   PARTITION BY segment_id ORDER BY offset_bytes, object_id
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS taken_up_to
          FROM v_extent)
 WHERE taken_up_to > offset_bytes

UNION ALL
SELECT 'an extent lies outside its segment', object_id,
       v_extent.offset_bytes || ' + ' || v_extent.len_bytes || ' of ' || segment.len_bytes
  FROM v_extent
  JOIN segment USING (segment_id)
 WHERE v_extent.offset_bytes + v_extent.len_bytes > segment.len_bytes

UNION ALL
SELECT 'an extent does not begin at a multiple of 512', object_id,
       'segment ' || segment_id || ' at ' || offset_bytes
  FROM v_extent
 WHERE offset_bytes % 512 <> 0

UNION ALL
SELECT 'an extent has no replica', extent_id, 'replica ' || extent_id / 4096
  FROM extent
  LEFT JOIN replica ON replica_id = extent_id / 4096
 WHERE replica_id IS NULL

UNION ALL
SELECT 'a replica of one run has extents too', replica_id, 'extent ' || extent_id
  FROM extent
  JOIN replica ON replica_id = extent_id / 4096
 WHERE replica.offset_bytes IS NOT NULL

UNION ALL
SELECT 'a replica lacks an extent', extent_id / 4096,
       count(*) || ' there, the last is number ' || max(extent_id % 4096)
  FROM extent
 GROUP BY extent_id / 4096
HAVING count(*) <> max(extent_id % 4096) + 1

UNION ALL
SELECT 'a replica''s extents are not its object''s length', replica_id,
       coalesce(run_bytes, 0) || ' of ' || object.len_bytes
  FROM replica
  JOIN object ON object_id = replica_id / 8
  LEFT JOIN (SELECT extent_id / 4096 AS of_replica, sum(len_bytes) AS run_bytes
               FROM extent
              GROUP BY 1) ON of_replica = replica_id
 WHERE replica.offset_bytes IS NULL
   AND coalesce(run_bytes, 0) <> object.len_bytes

-- Replicas.
UNION ALL
SELECT 'a replica has no object', replica_id, 'object ' || replica_id / 8
  FROM replica
  LEFT JOIN object ON object_id = replica_id / 8
 WHERE object_id IS NULL

UNION ALL
SELECT 'a replica has no segment', replica_id, 'segment ' || replica.segment_id
  FROM replica
  LEFT JOIN segment USING (segment_id)
 WHERE segment.segment_id IS NULL

UNION ALL
SELECT 'two replicas of an object share a segment', replica_id / 8, 'segment ' || segment_id
  FROM replica
 GROUP BY replica_id / 8, segment_id
HAVING count(*) > 1

-- Objects.
UNION ALL
SELECT 'an object has no replica', object_id, len_bytes || ' bytes'
  FROM object
  LEFT JOIN replica ON replica_id BETWEEN object_id * 8 AND object_id * 8 + 7
 WHERE replica_id IS NULL
   AND len_bytes > 0

UNION ALL
SELECT 'an object has no tenant', object_id, 'tenant ' || object.tenant_id
  FROM object
  LEFT JOIN tenant USING (tenant_id)
 WHERE tenant.tenant_id IS NULL

UNION ALL
SELECT 'the tenant default is not number 1', 1, 'a store always has it'
 WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE tenant_id = 1 AND name = 'default')

UNION ALL
SELECT 'two objects have one key', max(object_id), 'and ' || min(object_id)
  FROM object
 WHERE NOT EXISTS (SELECT 1
                     FROM replica
                     JOIN segment USING (segment_id)
                    WHERE is_gone = 1 -- what lies there alone is no object any more
                      AND replica_id BETWEEN object_id * 8 AND object_id * 8 + 7)
 GROUP BY tenant_id, key
HAVING count(*) > 1

UNION ALL
SELECT 'a key holds NUL', object_id, hex(key)
  FROM object
 WHERE instr(key, x'00') > 0

-- Groups.
UNION ALL
SELECT 'a group has no object', object_id, 'group ' || hex(group_id)
  FROM object_group
 WHERE object_id NOT IN (SELECT object_id FROM object)

UNION ALL
SELECT 'the id of a group holds NUL', object_id, hex(group_id)
  FROM object_group
 WHERE instr(group_id, x'00') > 0

-- Tasks and jobs.
UNION ALL
SELECT 'a job''s segment has no job', job_segment.job_id, 'segment ' || segment_id
  FROM job_segment
  LEFT JOIN job USING (job_id)
 WHERE job.job_id IS NULL

UNION ALL
SELECT 'a segment is drained by two jobs', max(job_id), 'segment ' || segment_id || ', and ' || min(job_id)
  FROM job_segment
  JOIN job USING (job_id)
 WHERE state = 1
   AND is_target = 0
 GROUP BY segment_id
HAVING count(*) > 1

UNION ALL
SELECT 'two tasks under way have one object', max(task_id), 'object ' || object_id || ', and ' || min(task_id)
  FROM task
 WHERE state < 4
 GROUP BY object_id
HAVING count(*) > 1

UNION ALL
SELECT 'an id was never given out', task_id, 'task'
  FROM task, cluster
 WHERE task_id >= next_object_id

UNION ALL
SELECT 'an id was never given out', job_id, 'job'
  FROM job, cluster
 WHERE job_id >= next_object_id

-- Chunks.
UNION ALL
SELECT 'an open chunk has no segment', open_chunk.segment_id, 'chunk ' || chunk
  FROM open_chunk
  LEFT JOIN segment USING (segment_id)
 WHERE segment.segment_id IS NULL
);
