-- SPDX-License-Identifier: Apache-2.0
--
-- 0003_restored.sql -- segments of books that were put back from a backup.
--
-- Books that were put back are older than the bytes: what they say of a segment is true only
-- if nothing was written there since.  trusted_epoch is the last master epoch under which the
-- segment may have been lent for that to be so; 0: none.  NULL, as nearly always: these books
-- have seen the segment mounted, and know better than anybody what lies there.

ALTER TABLE segment ADD COLUMN trusted_epoch INTEGER CHECK (trusted_epoch >= 0);
