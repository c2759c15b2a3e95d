-- SPDX-License-Identifier: Apache-2.0
-- object_remove.sql -- an object is gone; its replicas and extents by their own queries.
DELETE FROM object WHERE object_id = :object_id;
