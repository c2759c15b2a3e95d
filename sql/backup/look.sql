-- SPDX-License-Identifier: Apache-2.0
-- look.sql -- what is this file?  Rows: of Tiffin or not, its mark, its schema, master epoch, objects, segments, bytes.

.mode list
.separator ' '

SELECT application_id = 1414088241, user_version, schema_version, master_epoch,
       (SELECT count(*) FROM object), (SELECT count(*) FROM segment),
       (SELECT coalesce(sum(len_bytes), 0) FROM object)
  FROM pragma_application_id, pragma_user_version, cluster;
