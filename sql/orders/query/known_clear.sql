-- SPDX-License-Identifier: Apache-2.0
-- known_clear.sql -- the list is made anew.
DELETE FROM known_setting;
