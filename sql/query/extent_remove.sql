-- SPDX-License-Identifier: Apache-2.0
-- extent_remove.sql -- every run of one copy.
DELETE FROM extent WHERE extent_id BETWEEN :replica_id * 4096 AND :replica_id * 4096 + 4095;
