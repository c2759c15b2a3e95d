-- SPDX-License-Identifier: Apache-2.0
-- event_trim.sql -- those that the ring has no place for.
DELETE FROM event WHERE event_id < :event_id;
