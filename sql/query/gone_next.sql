-- SPDX-License-Identifier: Apache-2.0
-- gone_next.sql -- the last of the next few objects behind that one; NULL: there are none.
SELECT max(object_id)
  FROM (SELECT object_id FROM object WHERE object_id > :after_id ORDER BY object_id LIMIT :n_objects);
