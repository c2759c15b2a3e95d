-- SPDX-License-Identifier: Apache-2.0
-- setting_keep.sql -- it was changed by request, and is to stay so.
INSERT INTO setting (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;
