-- SPDX-License-Identifier: Apache-2.0
-- row_sum_all.sql -- rows of before 0008_row_sum.sql get their sums.
UPDATE object
   SET row_sum = row_sum_of(object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, pinned_until_s);
UPDATE replica SET row_sum = row_sum_of(replica_id, segment_id, offset_bytes);
UPDATE extent SET row_sum = row_sum_of(extent_id, offset_bytes, len_bytes);
