# SPDX-License-Identifier: Apache-2.0
#
# sql_text.cmake -- write OUT_DIR/sql_text.c and .h from the files of SQL_DIR.  A script: cmake -P.

cmake_minimum_required(VERSION 3.20)

# c_literal -- the text of a file as a C string literal, a line of the file on each line.
function(c_literal path ret)
  file(READ "${path}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\t\"" text "${text}")
  set(${ret} "\n\t\"${text}\"" PARENT_SCOPE)
endfunction()

set(texts "")
set(externs "")

# add_texts -- every file of a folder as a constant, and an array of all of them, sorted by name.
function(add_texts folder array prefix)
  file(GLOB paths "${SQL_DIR}/${folder}/*.sql")
  list(SORT paths)
  set(rows "")
  foreach(path IN LISTS paths)
    get_filename_component(name "${path}" NAME_WE)
    c_literal("${path}" literal)
    string(APPEND texts "const char ${prefix}${name}[] =${literal};\n\n")
    string(APPEND externs "extern const char ${prefix}${name}[];\n")
    string(APPEND rows "\t{\"${name}\", ${prefix}${name}},\n")
  endforeach()
  string(APPEND texts "const struct sql_text ${array}[] = {\n${rows}};\n"
    "const size_t n_${array} = sizeof(${array}) / sizeof(${array}[0]);\n\n")
  string(APPEND externs "extern const struct sql_text ${array}[];\nextern const size_t n_${array};\n\n")
  set(texts "${texts}" PARENT_SCOPE)
  set(externs "${externs}" PARENT_SCOPE)
endfunction()

add_texts(schema sql_schemas sql_schema_)
add_texts(query sql_queries sql_)
add_texts(admin sql_admins sql_admin_)
add_texts(orders sql_orders_schemas sql_orders_schema_)
add_texts(orders/query sql_orders_queries sql_orders_query_)

set(head "/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by sql/sql_text.cmake from the files beside it: change those. */\n")
file(WRITE "${OUT_DIR}/sql_text.h" "${head}#ifndef SQL_SQL_TEXT_H\n#define SQL_SQL_TEXT_H\n\n#include <stddef.h>\n
struct sql_text {\n\tconst char *name; /* of the file, without .sql */\n\tconst char *text;\n};\n\n${externs}#endif\n")
file(WRITE "${OUT_DIR}/sql_text.c" "${head}#include \"sql/sql_text.h\"\n\n${texts}")
