-- SPDX-License-Identifier: Apache-2.0
-- events.sql -- what happened lately: the last 200, the newest below.
--
-- Times are UTC.  "count" and "bytes" tell how often within that second, and of how much.  To follow
-- them as they come: tiffin events -f

.timeout 5000
.mode box --wrap 2000

SELECT event_id,
       at,
       kind,
       count,
       CASE WHEN bytes > 0 THEN printf('%.1f MiB', bytes / 1048576.0) ELSE '' END AS bytes,
       CASE WHEN subject_id > 0 THEN subject_id ELSE '' END AS subject,
       words
  FROM (SELECT * FROM v_event ORDER BY event_id DESC LIMIT 200)
 ORDER BY event_id;
