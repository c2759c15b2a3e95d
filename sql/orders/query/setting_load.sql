-- SPDX-License-Identifier: Apache-2.0
-- setting_load.sql -- every setting that is ordered.
SELECT NULL AS row_id, name, NULL AS key, value, NULL AS value2, NULL AS wish, outcome
  FROM setting
 ORDER BY name;
