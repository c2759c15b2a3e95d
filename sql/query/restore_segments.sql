-- SPDX-License-Identifier: Apache-2.0
-- restore_segments.sql -- books put back: segments are trusted up to that master epoch.
UPDATE segment SET trusted_epoch = min(coalesce(trusted_epoch, :epoch), :epoch) WHERE segment_id > 0;
