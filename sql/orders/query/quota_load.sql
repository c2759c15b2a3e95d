-- SPDX-License-Identifier: Apache-2.0
-- quota_load.sql -- quotas that were not read yet, a bounded number.
SELECT NULL AS row_id, tenant AS name, NULL AS key, quota_bytes AS value, quota_objects AS value2,
       NULL AS wish, outcome
  FROM quota
 WHERE outcome IS NULL
 ORDER BY tenant LIMIT 256;
