-- SPDX-License-Identifier: Apache-2.0
-- object_attr.sql -- other attributes, or none.
UPDATE object SET attr = :attr WHERE object_id = :object_id;
