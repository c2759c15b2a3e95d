-- SPDX-License-Identifier: Apache-2.0
-- transaction_commit.sql -- into the WAL.
COMMIT;
