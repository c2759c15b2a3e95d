-- SPDX-License-Identifier: Apache-2.0
-- transaction_begin.sql -- take the write lock at once, so that nothing later can be busy.
BEGIN IMMEDIATE;
