-- SPDX-License-Identifier: Apache-2.0
-- object_add.sql -- objects that can be read from now on.
INSERT INTO object (object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, pinned_until_s, row_sum)
SELECT object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, pinned_until_s, row_sum
  FROM added_object;
