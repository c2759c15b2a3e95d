-- SPDX-License-Identifier: Apache-2.0
-- quota_load.sql -- quotas that were not read yet, a bounded number; the last column: is it new?
SELECT tenant, quota_bytes, quota_objects, 1 FROM quota WHERE outcome IS NULL ORDER BY tenant LIMIT 256;
