# SPDX-License-Identifier: Apache-2.0
#
# Manual pages.
#
#      man/NAME.SECTION                    written by hand
#      man/WHAT_page.c  --> man/*.[57]     written from a list (*.def) and kept in the tree, so that it can
#                                          be read there; tests/lint/pages.sh compares
#      core/tiffin.h --api_pages--> man3   written when the rest is built

file(GLOB MAN_PAGES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/*.[1-8])
foreach(page ${MAN_PAGES})
  string(REGEX REPLACE ".*\\.([1-8])$" "\\1" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# `ninja pages` writes the pages that lists are in anew.
add_library(tiffin_mdoc STATIC ${CMAKE_SOURCE_DIR}/man/mdoc.c)
add_custom_target(pages)
function(tiffin_page name page)
  add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/man/${name}.c)
  target_link_libraries(${name} PRIVATE tiffin_mdoc tiffin_base)
  add_custom_target(page_${name} COMMAND ${name} > ${CMAKE_SOURCE_DIR}/man/${page})
  add_dependencies(pages page_${name})
endfunction()
tiffin_page(protocol_page tiffin-protocol.7)
tiffin_page(conf_page tiffin.conf.5)
tiffin_page(metrics_page tiffin-metrics.7)

# The C interface: a page for each function of core/tiffin.h.
set(MAN3_DIR ${CMAKE_BINARY_DIR}/man/man3)
file(MAKE_DIRECTORY ${MAN3_DIR})
add_executable(api_pages ${CMAKE_SOURCE_DIR}/man/api_pages.c ${CMAKE_SOURCE_DIR}/man/api_header.c)
target_link_libraries(api_pages PRIVATE tiffin_mdoc)
add_custom_command(OUTPUT ${MAN3_DIR}/tiffin.3
  COMMAND api_pages ${CMAKE_SOURCE_DIR}/core/tiffin.h ${CMAKE_SOURCE_DIR}/tests/example/example.c ${MAN3_DIR}
  DEPENDS api_pages ${CMAKE_SOURCE_DIR}/core/tiffin.h ${CMAKE_SOURCE_DIR}/tests/example/example.c
  COMMENT "core/tiffin.h -> man3")
add_custom_target(man3 ALL DEPENDS ${MAN3_DIR}/tiffin.3)
install(DIRECTORY ${MAN3_DIR} DESTINATION ${CMAKE_INSTALL_MANDIR})
