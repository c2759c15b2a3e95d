-- SPDX-License-Identifier: Apache-2.0
-- chunk_load.sql -- every open chunk.
SELECT segment_id, chunk FROM open_chunk ORDER BY segment_id, chunk;
