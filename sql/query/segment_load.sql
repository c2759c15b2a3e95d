-- SPDX-License-Identifier: Apache-2.0
-- segment_load.sql -- every segment, by id.
SELECT segment_id, epoch, client_id, medium, len_bytes, mounted_at_ms, name, host, endpoint,
       trusted_epoch, drain
  FROM segment
 ORDER BY segment_id;
