# SPDX-License-Identifier: Apache-2.0
#
# Parts of the world that fail when they are told to, for the tests that ask for them.

foreach(name test_store_fault test_store_crash test_store_full)
  if(TARGET ${name})
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fault/vfs.c)
    set_tests_properties(unit/${name} PROPERTIES TIMEOUT 400) # the story is told a thousand times
  endif()
endforeach()
