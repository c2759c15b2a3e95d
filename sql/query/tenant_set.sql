-- SPDX-License-Identifier: Apache-2.0
-- tenant_set.sql -- a tenant is made, or has other quotas from now on.
INSERT INTO tenant (tenant_id, name, quota_bytes, quota_objects)
VALUES (:tenant_id, :name, :quota_bytes, :quota_objects)
    ON CONFLICT (tenant_id) DO UPDATE
   SET quota_bytes = excluded.quota_bytes,
       quota_objects = excluded.quota_objects;
