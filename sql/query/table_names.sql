-- SPDX-License-Identifier: Apache-2.0
-- table_names.sql -- tables whose CHECKs a start has SQLite look at; those of the others it judges row by row.
SELECT name
  FROM sqlite_schema
 WHERE type = 'table'
   AND name NOT IN ('object', 'replica', 'extent', 'object_group');
