-- SPDX-License-Identifier: Apache-2.0
-- tenants.sql -- what each tenant holds, against its quotas.
--
-- As stored: puts under way and resting bytes count against the quota as well, and only the master
-- knows them (tiffin tenants).

.timeout 5000
.mode box --wrap 2000

SELECT name AS tenant,
       n_objects AS objects,
       CASE quota_objects WHEN 0 THEN 'none' ELSE quota_objects END AS objects_quota,
       printf('%.1f MiB', stored_bytes / 1048576.0) AS stored,
       CASE quota_bytes WHEN 0 THEN 'none' ELSE printf('%.1f MiB', quota_bytes / 1048576.0) END AS bytes_quota,
       CASE WHEN quota_bytes > 0 THEN printf('%.1f %%', 100.0 * stored_bytes / quota_bytes) END AS used,
       CASE WHEN (quota_bytes > 0 AND stored_bytes > quota_bytes)
              OR (quota_objects > 0 AND n_objects > quota_objects)
            THEN 'over quota' ELSE '' END AS note
  FROM v_tenant
 ORDER BY stored_bytes DESC, name;
