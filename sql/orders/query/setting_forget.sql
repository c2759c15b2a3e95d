-- SPDX-License-Identifier: Apache-2.0
-- setting_forget.sql -- as configured again, by request.
DELETE FROM setting WHERE name = :name;
