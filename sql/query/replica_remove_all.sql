-- SPDX-License-Identifier: Apache-2.0
-- replica_remove_all.sql -- every copy of one object.
DELETE FROM replica WHERE replica_id BETWEEN :object_id * 8 AND :object_id * 8 + 7;
