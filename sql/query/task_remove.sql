-- SPDX-License-Identifier: Apache-2.0
-- task_remove.sql -- a task that ended long ago is forgotten.
DELETE FROM task WHERE task_id = :task_id;
