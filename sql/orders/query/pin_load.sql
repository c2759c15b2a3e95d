-- SPDX-License-Identifier: Apache-2.0
-- pin_load.sql -- pins that were not read yet, a bounded number.
SELECT pin_id AS row_id, tenant AS name, CAST(key AS BLOB) AS key, ttl_ms AS value, NULL AS value2,
       kind AS wish, outcome
  FROM pin
 WHERE outcome IS NULL
 ORDER BY pin_id LIMIT 256;
