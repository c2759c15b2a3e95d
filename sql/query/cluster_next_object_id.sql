-- SPDX-License-Identifier: Apache-2.0
-- cluster_next_object_id.sql -- ids below are used up, also after a restart.
UPDATE cluster SET next_object_id = max(next_object_id, :object_id) WHERE cluster_no = 1;
