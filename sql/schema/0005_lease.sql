-- SPDX-License-Identifier: Apache-2.0
--
-- 0005_lease.sql -- how long the leases of readers may be that a former master granted.
--
-- After a start, room that readers of before may look at rests until those leases are over; the
-- option lease_ms may have been longer then.  The number grows, synced, before the first longer
-- lease is granted, and shrinks when none so long can be running any more.
-- Books of before this file do not tell: 600000 is the longest that the option allows.

ALTER TABLE cluster ADD COLUMN longest_lease_ms INTEGER NOT NULL DEFAULT 600000
      CHECK (longest_lease_ms BETWEEN 0 AND 600000);
