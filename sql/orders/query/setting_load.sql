-- SPDX-License-Identifier: Apache-2.0
-- setting_load.sql -- every setting that is ordered; the last column: is it new?
SELECT name, value, NULL, outcome IS NULL FROM setting ORDER BY name;
