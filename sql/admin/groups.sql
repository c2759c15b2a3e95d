-- SPDX-License-Identifier: Apache-2.0
-- groups.sql -- groups of objects that go for room together, the largest first.

.timeout 5000
.mode box --wrap 2000

SELECT tenant,
       shown_group AS "group",
       count(*) AS objects,
       sum(len_bytes) AS len_bytes,
       min(shown_key) AS first_key
  FROM v_group
 GROUP BY tenant, group_id
 ORDER BY len_bytes DESC, shown_group
 LIMIT 1000;
