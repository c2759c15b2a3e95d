# SPDX-License-Identifier: Apache-2.0
#
# Programs on files that know nothing of a store: tests/conformance/NOUN.c is conform_NOUN.

file(GLOB CONFORM_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/conformance/*.c)
foreach(source ${CONFORM_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(conform_${name} ${source})
  set_target_properties(conform_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  list(APPEND CONFORM_TARGETS conform_${name})
endforeach()
add_custom_target(conform DEPENDS ${CONFORM_TARGETS})
