-- SPDX-License-Identifier: Apache-2.0
--
-- 0002_tenant.sql -- what a tenant may hold.
--
-- Bytes are those of room reserved on segments: each copy counts.  0: no limit.

ALTER TABLE tenant ADD COLUMN quota_bytes INTEGER NOT NULL DEFAULT 0 CHECK (quota_bytes >= 0);
ALTER TABLE tenant ADD COLUMN quota_objects INTEGER NOT NULL DEFAULT 0 CHECK (quota_objects >= 0);

-- Usage as it is stored: puts under way and resting bytes, which count against the quota as well, are
-- known to the master alone.  A run takes up whole grains of 512 bytes of its segment.
CREATE VIEW v_tenant AS
SELECT tenant.tenant_id,
       tenant.name,
       quota_bytes,
       quota_objects,
       coalesce(n_objects, 0) AS n_objects,
       coalesce(object_bytes, 0) AS object_bytes,
       coalesce(stored_bytes, 0) AS stored_bytes
  FROM tenant
  LEFT JOIN (SELECT tenant_id, count(*) AS n_objects, sum(len_bytes) AS object_bytes
               FROM object
              GROUP BY tenant_id) USING (tenant_id)
  LEFT JOIN (SELECT tenant_id, sum((v_extent.len_bytes + 511) / 512 * 512) AS stored_bytes
               FROM v_extent
               JOIN object USING (object_id)
              GROUP BY tenant_id) USING (tenant_id);
