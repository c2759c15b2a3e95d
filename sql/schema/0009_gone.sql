-- SPDX-License-Identifier: Apache-2.0
--
-- 0009_gone.sql -- segments that are lost, with all that lies on them.
--
-- One word for all copies of a segment: from the moment it stands here (is_gone = 1) they are void,
-- and an object that has no other copy is no object any more.  Their rows are cleared away a few
-- at a time while the master works, or all at once when it starts; then the segment's row goes.
-- So there are such rows for some seconds only.

ALTER TABLE segment ADD COLUMN is_gone INTEGER NOT NULL DEFAULT 0 CHECK (is_gone BETWEEN 0 AND 1);
