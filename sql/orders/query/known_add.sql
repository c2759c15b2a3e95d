-- SPDX-License-Identifier: Apache-2.0
-- known_add.sql -- a setting that can change while the master works.
INSERT INTO known_setting (name, unit, least, most, configured, help)
VALUES (:name, :unit, :least, :most, :configured, :help);
