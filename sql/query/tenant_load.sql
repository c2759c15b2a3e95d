-- SPDX-License-Identifier: Apache-2.0
-- tenant_load.sql -- every tenant, by id.
SELECT tenant_id, name FROM tenant ORDER BY tenant_id;
