-- SPDX-License-Identifier: Apache-2.0
-- transaction_rollback.sql -- as if nothing had been.
ROLLBACK;
