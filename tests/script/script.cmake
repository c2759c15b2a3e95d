# SPDX-License-Identifier: Apache-2.0
#
# Little programs that the scripts use, as users of the library: tools/NOUN.c is tool_NOUN.

file(GLOB SCRIPT_TOOLS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/script/tools/*.c)
foreach(source ${SCRIPT_TOOLS})
  get_filename_component(name ${source} NAME_WE)
  add_executable(tool_${name} ${source})
  target_link_libraries(tool_${name} PRIVATE tiffin_core)
  list(APPEND SCRIPT_TOOL_TARGETS tool_${name})
endforeach()
add_custom_target(script_tools DEPENDS ${SCRIPT_TOOL_TARGETS})
