-- SPDX-License-Identifier: Apache-2.0
-- object_pin.sql -- pinned, in another way, or no more.
-- A row whose sum is not right keeps a sum that is not: what it says is no truer now.
UPDATE object
   SET pinned_until_s = :pinned_until_s,
       row_sum = CASE row_sum
                 WHEN row_sum_of(object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, pinned_until_s)
                 THEN row_sum_of(object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, :pinned_until_s)
                 ELSE row_sum
                 END
 WHERE object_id = :object_id;
