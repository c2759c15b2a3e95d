-- SPDX-License-Identifier: Apache-2.0
-- pins.sql -- what is pinned, the largest first.
--
-- A soft pin whose time is over counts no more, though it may still stand in the books.

.timeout 5000
.mode box --wrap 2000

SELECT kind,
       coalesce(until, 'for ever') AS until,
       CASE WHEN pinned_until_s <= unixepoch() THEN 'over' ELSE '' END AS note,
       len_bytes,
       tenant,
       shown_key AS key
  FROM v_pin
 ORDER BY len_bytes DESC, object_id
 LIMIT 1000;
