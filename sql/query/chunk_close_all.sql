-- SPDX-License-Identifier: Apache-2.0
-- chunk_close_all.sql -- every open chunk of one segment.
DELETE FROM open_chunk WHERE segment_id = :segment_id;
