-- SPDX-License-Identifier: Apache-2.0
-- mark_final.sql -- this file is a backup, made while no master had the books.

PRAGMA user_version = 2;
