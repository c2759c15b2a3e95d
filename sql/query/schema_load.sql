-- SPDX-License-Identifier: Apache-2.0
-- schema_load.sql -- every table and view as it was made, to be compared with what it should be.
SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY type, name;
