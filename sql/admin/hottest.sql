-- SPDX-License-Identifier: Apache-2.0
-- hottest.sql -- where most is put just now: first parts of keys by what is younger than a minute, and an hour.
--
-- The books know when an object was put, not when it was read: that stands in the master's memory
-- alone.  What was put and went again is not counted.

.timeout 5000
.mode box --wrap 2000

SELECT coalesce(tenant.name, 'tenant ' || tenant_id) AS tenant,
       CASE WHEN length(first_part) = 0 THEN '(none)'
            WHEN CAST(first_part AS TEXT) GLOB '*[^ -~]*' THEN 'x''' || hex(first_part) || ''''
            ELSE CAST(first_part AS TEXT)
       END AS prefix,
       in_minute AS put_in_a_minute,
       printf('%.1f MiB', minute_bytes / 1048576.0) AS of_bytes,
       in_hour AS put_in_an_hour,
       datetime(newest_ms / 1000, 'unixepoch') AS newest
  FROM (SELECT tenant_id,
               substr(key, 1, instr(key, x'2f')) AS first_part,
               sum(put_at_ms >= now_ms - 60000) AS in_minute,
               sum(CASE WHEN put_at_ms >= now_ms - 60000 THEN len_bytes ELSE 0 END) AS minute_bytes,
               count(*) AS in_hour,
               max(put_at_ms) AS newest_ms
          FROM object, (SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000 AS now_ms)
         WHERE put_at_ms >= now_ms - 3600000
         GROUP BY 1, 2)
  LEFT JOIN tenant USING (tenant_id)
 ORDER BY in_minute DESC, in_hour DESC, 1, 2
 LIMIT 100;
