# SPDX-License-Identifier: Apache-2.0
#
# sql.cmake -- all SQL of the project becomes C strings, by sql_text.cmake.
#
#      schema/NNNN_*.sql   sql_schemas[], in order: index 0 is version 1
#      query/NAME.sql      sql_NAME[], and all of them in sql_queries[]
#      admin/NAME.sql      sql_admins[]
#      orders/NNNN_*.sql        sql_orders_schemas[], of orders.db
#      orders/query/NAME.sql    sql_orders_query_NAME[], and all of them in sql_orders_queries[]
#
# Sets SQL_TEXT_C, and SQL_TEXT_DIR, under which the header is "sql/sql_text.h".

file(GLOB SQL_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/schema/*.sql
  ${CMAKE_SOURCE_DIR}/sql/query/*.sql ${CMAKE_SOURCE_DIR}/sql/admin/*.sql
  ${CMAKE_SOURCE_DIR}/sql/orders/*.sql ${CMAKE_SOURCE_DIR}/sql/orders/query/*.sql)
set(SQL_TEXT_DIR ${CMAKE_BINARY_DIR}/generated)
set(SQL_TEXT_C ${SQL_TEXT_DIR}/sql/sql_text.c)

add_custom_command(
  OUTPUT ${SQL_TEXT_C} ${SQL_TEXT_DIR}/sql/sql_text.h
  COMMAND ${CMAKE_COMMAND} -DSQL_DIR=${CMAKE_SOURCE_DIR}/sql -DOUT_DIR=${SQL_TEXT_DIR}/sql
    -P ${CMAKE_SOURCE_DIR}/sql/sql_text.cmake
  DEPENDS ${SQL_FILES} ${CMAKE_SOURCE_DIR}/sql/sql_text.cmake
  COMMENT "sql/*.sql -> sql_text.c"
  VERBATIM)
