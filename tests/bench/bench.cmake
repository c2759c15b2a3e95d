# SPDX-License-Identifier: Apache-2.0
#
# Each tests/bench/bench_NOUN.c is one program that prints figures, a line a case.
# They are built so that they do not rot, and run by hand: figures are for a quiet machine.

file(GLOB BENCHES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/bench/bench_*.c)
foreach(source ${BENCHES})
  get_filename_component(name ${source} NAME_WE)
  if(name STREQUAL "bench_rdma" AND NOT TIFFIN_RDMA)
    continue()
  endif()
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE tiffin_core tiffin_master)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endforeach()
foreach(name bench_move bench_near bench_peers bench_fs bench_pass bench_files bench_bytes) # these run the real programs
  if(TARGET ${name})
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/bench/house.c)
  endif()
endforeach()
foreach(name bench_move bench_near bench_peers) # these have somebody to be compared with
  target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/bench/rival.c ${CMAKE_SOURCE_DIR}/tests/bench/ring.c)
endforeach()
foreach(name bench_files bench_bytes) # these have the least of file systems beside them
  target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/bench/pair.c)
endforeach()
foreach(name bench_master bench_turn) # these run a master of their own
  target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/bench/box.c)
endforeach()
foreach(name bench_master bench_turn bench_alloc)
  target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/bench/yard.c)
endforeach()
target_link_libraries(bench_send PRIVATE PkgConfig::URING)
target_sources(bench_evict PRIVATE ${CMAKE_SOURCE_DIR}/tests/bench/evict/pool.c)
if(TIFFIN_FUSE)
  foreach(name ref_fs ref_tree)
    add_executable(bench_${name} ${CMAKE_SOURCE_DIR}/tests/bench/${name}.c)
    target_link_libraries(bench_${name} PRIVATE PkgConfig::FUSE)
    set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  endforeach()
endif()
