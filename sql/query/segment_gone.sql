-- SPDX-License-Identifier: Apache-2.0
-- segment_gone.sql -- all copies on a segment are void.
UPDATE segment SET is_gone = 1 WHERE segment_id = :segment_id;
