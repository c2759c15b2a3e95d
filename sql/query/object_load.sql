-- SPDX-License-Identifier: Apache-2.0
-- object_load.sql -- every object, by id.
SELECT object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, pinned_until_s, row_sum
  FROM object ORDER BY object_id;
