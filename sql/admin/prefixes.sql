-- SPDX-License-Identifier: Apache-2.0
-- prefixes.sql -- how much is stored under each first part of a path.

.timeout 5000
.mode box

SELECT tenant,
       CASE WHEN instr(shown_key, '/') > 0 THEN substr(shown_key, 1, instr(shown_key, '/'))
            ELSE '(none)'
       END AS prefix,
       count(*) AS objects,
       printf('%.1f MiB', sum(len_bytes) / 1048576.0) AS bytes,
       printf('%.1f MiB', max(len_bytes) / 1048576.0) AS longest,
       max(put_at) AS newest
  FROM v_object
 GROUP BY 1, 2
 ORDER BY sum(len_bytes) DESC, 1, 2
 LIMIT 200;
