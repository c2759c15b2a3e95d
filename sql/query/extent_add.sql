-- SPDX-License-Identifier: Apache-2.0
-- extent_add.sql -- one run of a copy that has several.
INSERT INTO extent (extent_id, offset_bytes, len_bytes, row_sum)
VALUES (:extent_id, :offset_bytes, :len_bytes, :row_sum);
