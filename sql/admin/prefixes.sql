-- SPDX-License-Identifier: Apache-2.0
-- prefixes.sql -- how much is stored under each first part of a path.

.timeout 5000
.mode box --wrap 2000

SELECT coalesce(tenant.name, 'tenant ' || tenant_id) AS tenant,
       CASE WHEN length(first_part) = 0 THEN '(none)'
            WHEN CAST(first_part AS TEXT) GLOB '*[^ -~]*' THEN 'x''' || hex(first_part) || ''''
            ELSE CAST(first_part AS TEXT)
       END AS prefix,
       objects,
       printf('%.1f MiB', sum_bytes / 1048576.0) AS bytes,
       printf('%.1f MiB', max_bytes / 1048576.0) AS longest,
       datetime(newest_ms / 1000, 'unixepoch') AS newest
  FROM (SELECT tenant_id,
               substr(key, 1, instr(key, x'2f')) AS first_part,
               count(*) AS objects,
               sum(len_bytes) AS sum_bytes,
               max(len_bytes) AS max_bytes,
               max(put_at_ms) AS newest_ms
          FROM object
         GROUP BY 1, 2)
  LEFT JOIN tenant USING (tenant_id)
 ORDER BY sum_bytes DESC, 1, 2
 LIMIT 200;
