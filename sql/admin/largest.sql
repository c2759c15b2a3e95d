-- SPDX-License-Identifier: Apache-2.0
-- largest.sql -- the 50 longest objects.

.timeout 5000
.mode box --wrap 2000

SELECT printf('%.1f MiB', len_bytes / 1048576.0) AS len,
       len_bytes,
       tenant,
       shown_key,
       put_at,
       object_id
  FROM v_object
 ORDER BY len_bytes DESC, object_id
 LIMIT 50;
