# SPDX-License-Identifier: Apache-2.0
#
# Programs that need an RDMA device; tests/lab/run runs them where there is one.
if(CMOCKA_FOUND AND TIFFIN_RDMA)
  add_executable(lab_rdma ${CMAKE_CURRENT_LIST_DIR}/lab_rdma.c)
  target_link_libraries(lab_rdma PRIVATE PkgConfig::CMOCKA tiffin_transfer)
endif()
