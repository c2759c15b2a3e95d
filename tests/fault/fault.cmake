# SPDX-License-Identifier: Apache-2.0
#
# Parts of the world that fail when they are told to, for the tests that ask for them.

foreach(name test_store_fault test_store_crash test_store_full)
  if(TARGET ${name})
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fault/vfs.c
      ${CMAKE_SOURCE_DIR}/tests/fault/vfs_files.c)
    set_tests_properties(unit/${name} PROPERTIES TIMEOUT 240) # a story with a thousand ends
  endif()
endforeach()

if(TARGET test_tcp_proxy)
  target_sources(test_tcp_proxy PRIVATE ${CMAKE_SOURCE_DIR}/tests/fault/proxy.c)
endif()

# Programs that fail when they are told to: see run.sh.
add_library(tiffin_fault SHARED tests/fault/shim.c tests/fault/page.c)
set_target_properties(tiffin_fault PROPERTIES PREFIX "")
target_compile_options(tiffin_fault PRIVATE -fno-sanitize=all) # it stands in front of their malloc
target_link_options(tiffin_fault PRIVATE -fno-sanitize=all)
target_link_libraries(tiffin_fault PRIVATE ${CMAKE_DL_LIBS})
add_executable(fault_arm tests/fault/arm.c tests/fault/page.c)
add_executable(fault_story tests/fault/story.c tests/fault/chapters.c tests/fault/after.c
  tests/fault/ledger.c tests/fault/page.c)
target_link_libraries(fault_story PRIVATE tiffin_core)

# A network that is bad: see tests/script/bad_network.sh.
add_executable(fault_wires tests/fault/wires.c tests/fault/proxy.c)
target_link_libraries(fault_wires PRIVATE tiffin_core)
target_link_options(fault_wires PRIVATE -Wl,--wrap=connect)
