-- SPDX-License-Identifier: Apache-2.0
--
-- 0007_pin.sql -- objects that are to be kept when room is wanted.
--
-- pinned_until_s: NULL, as nearly always: not pinned.  4294967295: a hard pin, which never ends.
-- Else a soft pin, which ends at that second since 1970 (UTC).  That time is policy, not a
-- promise: a clock that is set makes pins end earlier or later.  One that is over stays here
-- until the object is pinned anew or goes.

ALTER TABLE object ADD COLUMN pinned_until_s INTEGER CHECK (pinned_until_s BETWEEN 1 AND 4294967295);

CREATE VIEW v_pin AS
SELECT v_object.object_id,
       v_object.tenant,
       v_object.shown_key,
       v_object.key,
       v_object.len_bytes,
       CASE pinned_until_s WHEN 4294967295 THEN 'hard' ELSE 'soft' END AS kind,
       CASE WHEN pinned_until_s < 4294967295 THEN datetime(pinned_until_s, 'unixepoch') END AS until,
       pinned_until_s
  FROM object
  JOIN v_object USING (object_id)
 WHERE pinned_until_s IS NOT NULL;
