-- SPDX-License-Identifier: Apache-2.0
-- tenant_remove.sql -- it holds nothing any more: its objects went before.
DELETE FROM tenant WHERE tenant_id = :tenant_id;
