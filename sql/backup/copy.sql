-- SPDX-License-Identifier: Apache-2.0
-- copy.sql -- a copy of the books as they are now, into one new file in the current directory.
--
-- It reads one state, while the master goes on; nothing is written beside the copy, and no
-- checkpoint is made.

.timeout 5000
.output /dev/null
.dbconfig no_ckpt_on_close on
.output stdout

VACUUM INTO 'new.db';
