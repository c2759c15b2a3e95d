# SPDX-License-Identifier: Apache-2.0
#
# Fuzz targets, built by clang only and when asked for:
#
#      cmake -DCMAKE_C_COMPILER=clang -DTIFFIN_FUZZ=ON \
#            -DTIFFIN_SANITIZE=fuzzer-no-link,address,undefined ...
#      ninja fuzz
#
# tests/fuzz/run.sh does that and runs them.  Each target is also a test that
# feeds it the corpus kept in tests/fuzz/corpus once.

if(NOT TIFFIN_FUZZ)
  return()
endif()
if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "TIFFIN_FUZZ wants clang (-DCMAKE_C_COMPILER=clang): only it has libFuzzer")
endif()

add_custom_target(fuzz)

# tiffin_fuzz -- one target: its source, the library that it is about, its definitions.
function(tiffin_fuzz name source library)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/${source})
  target_compile_definitions(${name} PRIVATE ${ARGN})
  target_link_libraries(${name} PRIVATE ${library})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_dependencies(fuzz ${name})
  add_test(NAME fuzz/${name}
    COMMAND ${name} -runs=0 ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()

# The messages are those of proto.def: MESSAGE(number, name, ...).
file(READ ${CMAKE_SOURCE_DIR}/master/proto/proto.def proto)
string(REGEX MATCHALL "MESSAGE\\([0-9]+, [a-z_]+" messages "${proto}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/master/proto/proto.def)
foreach(message ${messages})
  string(REGEX REPLACE ".*, " "" message ${message})
  tiffin_fuzz(fuzz_${message} fuzz_message.c tiffin_proto FUZZ_MESSAGE=${message})
endforeach()
tiffin_fuzz(fuzz_frame fuzz_frame.c tiffin_proto)
tiffin_fuzz(fuzz_wire fuzz_wire.c tiffin_transfer)
tiffin_fuzz(fuzz_rdma_wire fuzz_rdma_wire.c tiffin_transfer)

add_executable(seeds ${CMAKE_SOURCE_DIR}/tests/fuzz/seeds.c)
target_link_libraries(seeds PRIVATE tiffin_transfer tiffin_proto)
tiffin_fuzz(fuzz_master fuzz_master.c tiffin_master)
tiffin_fuzz(fuzz_serve fuzz_serve.c tiffin_transfer)
if(TIFFIN_FUSE)
  tiffin_fuzz(fuzz_path fuzz_path.c tiffin_fs)
  tiffin_fuzz(fuzz_control fuzz_control.c tiffin_fs)
endif()
