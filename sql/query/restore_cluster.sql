-- SPDX-License-Identifier: Apache-2.0
-- restore_cluster.sql -- books put back: beyond every epoch and every id given out since.  Rows: the epoch before.
UPDATE cluster
   SET master_epoch = master_epoch + 1048576,
       next_object_id = max(next_object_id, (SELECT coalesce(max(object_id), 0) + 1 FROM object))
                        + 1099511627776,
       cluster_id = 0 -- a new one: the same backup may be put back in two places
 WHERE cluster_no = 1
RETURNING master_epoch - 1048576;
