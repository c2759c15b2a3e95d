-- SPDX-License-Identifier: Apache-2.0
-- extent_load.sql -- every run of copies that have several, in the order of the copies' ids.
SELECT extent_id, offset_bytes, len_bytes, row_sum FROM extent ORDER BY extent_id;
