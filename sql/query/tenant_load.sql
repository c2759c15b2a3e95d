-- SPDX-License-Identifier: Apache-2.0
-- tenant_load.sql -- every tenant, by id.
SELECT tenant_id, name, quota_bytes, quota_objects FROM tenant ORDER BY tenant_id;
