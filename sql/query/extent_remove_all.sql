-- SPDX-License-Identifier: Apache-2.0
-- extent_remove_all.sql -- every run of every copy of one object.
DELETE FROM extent WHERE extent_id BETWEEN :object_id * 32768 AND :object_id * 32768 + 32767;
