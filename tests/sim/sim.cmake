# SPDX-License-Identifier: Apache-2.0
#
# The master and the client library have functions of the same names.  So the master goes into
# the simulation as one object of which only the names in this list are seen:
#
#      libtiffin_master.a --ld -r--> whole.o --objcopy--> master.o  \
#                                                                    +--> sim
#      tests/sim/*.c, tiffin_core, tiffin_transfer, ...             /
#
set(SIM_DIR ${CMAKE_BINARY_DIR}/sim-master)
set(SIM_NAMES ${CMAKE_SOURCE_DIR}/tests/sim/master_names.txt)
file(MAKE_DIRECTORY ${SIM_DIR})
add_custom_command(
  OUTPUT ${SIM_DIR}/master.o
  COMMAND ${CMAKE_LINKER} -r -o ${SIM_DIR}/whole.o --whole-archive $<TARGET_FILE:tiffin_master>
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${SIM_NAMES} ${SIM_DIR}/whole.o ${SIM_DIR}/master.o
  DEPENDS tiffin_master ${SIM_NAMES}
  VERBATIM)

file(GLOB SIM_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/sim/*.c)
add_executable(sim ${SIM_SOURCES} ${SIM_DIR}/master.o)
target_link_libraries(sim PRIVATE tiffin_core PkgConfig::SQLITE PkgConfig::HTTPD PkgConfig::PCRE2)
target_link_options(sim PRIVATE -Wl,--wrap=lock_wait)

add_test(NAME sim/short COMMAND sim --seeds 1..20)
set_tests_properties(sim/short PROPERTIES LABELS sim TIMEOUT 120)
