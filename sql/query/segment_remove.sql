-- SPDX-License-Identifier: Apache-2.0
-- segment_remove.sql -- a segment is lent no longer; its chunks by their own query.
DELETE FROM segment WHERE segment_id = :segment_id;
