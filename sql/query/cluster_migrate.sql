-- SPDX-License-Identifier: Apache-2.0
-- cluster_migrate.sql -- the schema file of that number has been applied.
UPDATE cluster SET schema_version = :schema_version WHERE cluster_no = 1;
