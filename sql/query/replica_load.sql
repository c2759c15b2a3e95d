-- SPDX-License-Identifier: Apache-2.0
-- replica_load.sql -- every copy, in the order of the objects' ids.
SELECT replica_id, segment_id, offset_bytes, row_sum FROM replica ORDER BY replica_id;
