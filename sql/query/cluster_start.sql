-- SPDX-License-Identifier: Apache-2.0
-- cluster_start.sql -- a master starts: a new epoch.  Rows: epoch, first object id that is free, longest lease,
-- cluster id.
UPDATE cluster
   SET master_epoch = master_epoch + 1,
       started_at_ms = :now_ms,
       longest_lease_ms = CASE master_epoch WHEN 0 THEN :lease_ms -- the first one: nobody has a lease
                          ELSE max(longest_lease_ms, :lease_ms) END,
       cluster_id = CASE cluster_id WHEN 0 THEN 1 + (random() & 9223372036854775806)
                    ELSE cluster_id END
 WHERE cluster_no = 1
RETURNING master_epoch,
          max(next_object_id, (SELECT coalesce(max(object_id), 0) + 1 FROM object)),
          longest_lease_ms,
          cluster_id;
