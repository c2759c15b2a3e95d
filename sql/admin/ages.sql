-- SPDX-License-Identifier: Apache-2.0
-- ages.sql -- how old what is stored is: by tenant and age since it was put.

.timeout 5000
.mode box --wrap 2000

SELECT coalesce(tenant.name, 'tenant ' || tenant_id) AS tenant,
       substr(age, 3) AS age,
       objects,
       printf('%.1f MiB', sum_bytes / 1048576.0) AS bytes,
       printf('%.1f %%', 100.0 * sum_bytes / max(sum(sum_bytes) OVER (PARTITION BY tenant_id), 1)) AS of_tenant
  FROM (SELECT tenant_id, age, count(*) AS objects, sum(len_bytes) AS sum_bytes
          FROM (SELECT tenant_id, len_bytes,
                       CASE WHEN put_at_ms >= now_ms - 60000      THEN '1 under a minute'
                            WHEN put_at_ms >= now_ms - 600000     THEN '2 under 10 minutes'
                            WHEN put_at_ms >= now_ms - 3600000    THEN '3 under an hour'
                            WHEN put_at_ms >= now_ms - 86400000   THEN '4 under a day'
                            WHEN put_at_ms >= now_ms - 604800000  THEN '5 under a week'
                            ELSE '6 older'
                       END AS age
                  FROM object, (SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000 AS now_ms))
         GROUP BY tenant_id, age) AS aged
  LEFT JOIN tenant USING (tenant_id)
 ORDER BY 1, aged.age;
