# SPDX-License-Identifier: Apache-2.0
#
# Each tests/unit/test_NOUN.c is one cmocka program, linked with every library:
# the linker takes what it needs.  tests/sim is one program, tests/fuzz one a message.

# The fake devices: their objects stand in front of the real libraries wherever they are linked.
if(TIFFIN_RDMA)
  file(GLOB FAKE_VERBS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/mock/verbs/*.c)
  add_library(fake_verbs OBJECT ${FAKE_VERBS})
endif()

if(CMOCKA_FOUND)
  file(GLOB UNIT_TESTS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/test_*.c)
  foreach(source ${UNIT_TESTS})
    get_filename_component(name ${source} NAME_WE)
    file(STRINGS ${source} fakes_verbs REGEX "^#include \"tests/mock/verbs/fake\\.h\"")
    if(fakes_verbs AND NOT TIFFIN_RDMA)
      continue()
    endif()
    add_executable(${name} ${source})
    # A story of assertions is compiled four times as fast so, and runs no longer: the time is the library's.
    target_compile_options(${name} PRIVATE -O0 -g1)
    target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA tiffin_core tiffin_master)
    target_compile_definitions(${name} PRIVATE TIFFIN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    file(STRINGS ${source} fails_allocs REGEX "^#include \"tests/unit/allocs\\.h\"")
    if(fails_allocs)
      target_link_options(${name} PRIVATE
        -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=aligned_alloc,--wrap=slab_alloc)
    endif()
    if(fakes_verbs)
      target_link_libraries(${name} PRIVATE fake_verbs)
    endif()
    if(name STREQUAL "test_program") # its write() fails when it is told to
      target_link_options(${name} PRIVATE -Wl,--wrap=write)
    endif()
    if(TIFFIN_FUSE AND name MATCHES "^test_fs_")
      target_link_libraries(${name} PRIVATE tiffin_fs)
    endif()
    if(name MATCHES "^test_(cli|fs_export)_")
      target_link_libraries(${name} PRIVATE tiffin_cli)
    endif()
    add_test(NAME unit/${name} COMMAND ${name})
    set_tests_properties(unit/${name} PROPERTIES LABELS unit TIMEOUT 120)
  endforeach()
endif()

foreach(part sim fault fuzz bench script conformance lab)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/${part}/${part}.cmake)
    include(tests/${part}/${part}.cmake)
  endif()
endforeach()
