-- SPDX-License-Identifier: Apache-2.0
-- object_pin.sql -- pinned, in another way, or no more.
UPDATE object SET pinned_until_s = :pinned_until_s WHERE object_id = :object_id;
