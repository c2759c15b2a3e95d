-- SPDX-License-Identifier: Apache-2.0
-- extent_add.sql -- runs of copies that have several.
INSERT INTO extent (extent_id, offset_bytes, len_bytes, row_sum)
SELECT extent_id, offset_bytes, len_bytes, row_sum
  FROM added_extent;
