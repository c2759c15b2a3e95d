# SPDX-License-Identifier: Apache-2.0
#
# Manual pages: man/NAME.SECTION is installed into its section.

file(GLOB MAN_PAGES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/*.[1-8])
foreach(page ${MAN_PAGES})
  string(REGEX REPLACE ".*\\.([1-8])$" "\\1" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# tiffin-protocol(7) is written by a program from master/proto/*.def, and kept in the tree:
#
#      ninja protocol_page && ./protocol_page > man/tiffin-protocol.7
#
add_executable(protocol_page ${CMAKE_SOURCE_DIR}/man/protocol_page.c)
add_test(NAME lint/protocol_page COMMAND sh -c
  "$<TARGET_FILE:protocol_page> | diff -u ${CMAKE_SOURCE_DIR}/man/tiffin-protocol.7 -")
set_tests_properties(lint/protocol_page PROPERTIES LABELS lint)
