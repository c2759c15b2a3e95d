-- SPDX-License-Identifier: Apache-2.0
-- usage.sql -- how much is stored: in all, by tenant, by age.
--
-- An object counts once under "objects" and with all its copies under "stored".

.timeout 5000
.mode box --wrap 2000

SELECT count(*) AS objects,
       printf('%.1f MiB', coalesce(sum(len_bytes), 0) / 1048576.0) AS bytes,
       (SELECT printf('%.1f MiB', coalesce(sum(len_bytes), 0) / 1048576.0) FROM v_extent) AS stored,
       (SELECT printf('%.1f MiB', coalesce(sum(len_bytes), 0) / 1048576.0) FROM segment) AS lent,
       (SELECT count(*) FROM segment) AS segments,
       (SELECT master_epoch FROM cluster) AS master_epoch,
       (SELECT datetime(started_at_ms / 1000, 'unixepoch') FROM cluster) AS started_at
  FROM object;

SELECT tenant,
       count(*) AS objects,
       printf('%.1f MiB', sum(len_bytes) / 1048576.0) AS bytes,
       min(put_at) AS oldest,
       max(put_at) AS newest
  FROM v_object
 GROUP BY tenant
 ORDER BY sum(len_bytes) DESC;

SELECT age,
       count(*) AS objects,
       printf('%.1f MiB', sum(len_bytes) / 1048576.0) AS bytes
  FROM (SELECT len_bytes,
               CASE WHEN put_at_ms >= now_ms - 60000      THEN '1 under a minute'
                    WHEN put_at_ms >= now_ms - 3600000    THEN '2 under an hour'
                    WHEN put_at_ms >= now_ms - 86400000   THEN '3 under a day'
                    WHEN put_at_ms >= now_ms - 604800000  THEN '4 under a week'
                    ELSE '5 older'
               END AS age
          FROM object, (SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000 AS now_ms))
 GROUP BY age
 ORDER BY age;
