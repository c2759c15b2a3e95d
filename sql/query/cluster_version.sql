-- SPDX-License-Identifier: Apache-2.0
-- cluster_version.sql -- which schema this is; works on every version, older and newer.
SELECT schema_version FROM cluster WHERE cluster_no = 1;
