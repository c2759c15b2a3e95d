-- SPDX-License-Identifier: Apache-2.0
-- cluster_sync.sql -- change something, so that a synced commit has a page to write.
UPDATE cluster SET sync_no = sync_no + 1 WHERE cluster_no = 1;
