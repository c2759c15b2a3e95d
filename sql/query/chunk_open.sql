-- SPDX-License-Identifier: Apache-2.0
-- chunk_open.sql -- puts may be writing in this part of a segment.
INSERT INTO open_chunk (segment_id, chunk) VALUES (:segment_id, :chunk)
ON CONFLICT DO NOTHING;
