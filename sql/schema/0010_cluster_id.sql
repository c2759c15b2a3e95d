-- SPDX-License-Identifier: Apache-2.0
--
-- 0010_cluster_id.sql -- which books are these?
--
-- Ids of objects are never used twice within one set of books.  Who keeps bytes by such an id
-- outside of them (a client's hot cache) must tell one set from another: by this number, random,
-- made at the first start, and again when a backup is put back.

ALTER TABLE cluster ADD COLUMN cluster_id INTEGER NOT NULL DEFAULT 0 -- 0: not made yet
      CHECK (cluster_id >= 0);
