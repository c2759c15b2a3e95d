-- SPDX-License-Identifier: Apache-2.0
-- gone_load.sql -- segments that are lost with all that lies on them.
SELECT segment_id FROM segment WHERE is_gone = 1 ORDER BY segment_id;
