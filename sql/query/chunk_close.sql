-- SPDX-License-Identifier: Apache-2.0
-- chunk_close.sql -- nobody writes there any more.
DELETE FROM open_chunk WHERE segment_id = :segment_id AND chunk = :chunk;
