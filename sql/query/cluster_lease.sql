-- SPDX-License-Identifier: Apache-2.0
-- cluster_lease.sql -- longer leases of before are over: no reader holds one of more than this.
UPDATE cluster SET longest_lease_ms = :lease_ms WHERE cluster_no = 1;
