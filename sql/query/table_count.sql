-- SPDX-License-Identifier: Apache-2.0
-- table_count.sql -- is there anything in this database at all?
SELECT count(*) FROM sqlite_schema;
