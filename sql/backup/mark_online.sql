-- SPDX-License-Identifier: Apache-2.0
-- mark_online.sql -- this file is a backup, made while a master worked.

PRAGMA user_version = 1;
