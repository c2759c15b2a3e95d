-- SPDX-License-Identifier: Apache-2.0
-- object_rename.sql -- the same object under another key.
UPDATE object SET key = :key WHERE object_id = :object_id;
