-- SPDX-License-Identifier: Apache-2.0
-- quick.sql -- the file itself, page by page: for backups of an older schema.

SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok';
