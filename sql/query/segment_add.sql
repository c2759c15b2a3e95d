-- SPDX-License-Identifier: Apache-2.0
-- segment_add.sql -- a segment is lent, or lent again with other words: from now on the books are right about it.
INSERT INTO segment (segment_id, epoch, client_id, medium, len_bytes, mounted_at_ms,
                     name, host, endpoint, drain)
VALUES (:segment_id, :epoch, :client_id, :medium, :len_bytes, :mounted_at_ms,
        :name, :host, :endpoint, :drain)
ON CONFLICT (segment_id) DO UPDATE
   SET epoch = excluded.epoch,
       client_id = excluded.client_id,
       medium = excluded.medium,
       len_bytes = excluded.len_bytes,
       mounted_at_ms = excluded.mounted_at_ms,
       name = excluded.name,
       host = excluded.host,
       endpoint = excluded.endpoint,
       trusted_epoch = NULL,
       drain = excluded.drain;
