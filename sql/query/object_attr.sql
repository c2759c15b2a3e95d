-- SPDX-License-Identifier: Apache-2.0
-- object_attr.sql -- other attributes, or none.
-- A row whose sum is not right keeps a sum that is not: what it says is no truer now.
UPDATE object
   SET attr = :attr,
       row_sum = CASE row_sum
                 WHEN row_sum_of(object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, pinned_until_s)
                 THEN row_sum_of(object_id, tenant_id, key, len_bytes, put_at_ms, crc, :attr, pinned_until_s)
                 ELSE row_sum
                 END
 WHERE object_id = :object_id;
