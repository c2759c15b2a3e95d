-- SPDX-License-Identifier: Apache-2.0
-- snapshot_begin.sql -- a reader sees one state until it ends.
BEGIN;
