-- SPDX-License-Identifier: Apache-2.0
--
-- 0008_row_sum.sql -- each row that says under which key an object is, or where it lies, bears a sum.
--
-- A bit that flips on the disk or in a page would else give one key another's bytes.  The sum is the
-- CRC-32C of the row's other columns, in their order (master/store_sum.h says how), as a signed number:
-- four bytes.  There is no CHECK: whatever is not the sum is wrong.  Books of before get theirs when
-- they are brought to this version.  A row whose sum is not right is not believed: its object is
-- dropped, and an event says so.

ALTER TABLE object ADD COLUMN row_sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE replica ADD COLUMN row_sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE extent ADD COLUMN row_sum INTEGER NOT NULL DEFAULT 0;
