-- SPDX-License-Identifier: Apache-2.0
-- object_add.sql -- an object that can be read from now on.
INSERT INTO object (object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, pinned_until_s, row_sum)
VALUES (:object_id, :tenant_id, :key, :len_bytes, :put_at_ms, :crc, :attr, :pinned_until_s,
        :row_sum);
