# reshard_library(NAME SOURCES ... DEPENDS ...): one module's target. Dependencies between modules
# are the house rules of the design; tests/repository/house_rules_test.py holds the includes against them.

add_library(reshard_options INTERFACE)
target_compile_options(reshard_options INTERFACE -Wall -Wextra -Wpedantic -Werror -ffp-contract=off)
# g++ 12 takes `"text" + std::string` for an overlapping copy (GCC bug 105651).
target_compile_options(reshard_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_include_directories(reshard_options INTERFACE ${CMAKE_SOURCE_DIR})
if(RESHARD_SANITIZE)
  # Instrumented code confuses g++ 12's flow analysis (-Wmaybe-uninitialized in std::variant): here
  # warnings are not errors, they are in the release build.
  target_compile_options(reshard_options INTERFACE -Wno-error -fsanitize=${RESHARD_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(reshard_options INTERFACE -fsanitize=${RESHARD_SANITIZE})
endif()

function(reshard_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  set_target_properties(${NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${NAME} PUBLIC ${ARG_DEPENDS} PRIVATE reshard_options ${ARG_PRIVATE})
  target_include_directories(${NAME} PUBLIC ${CMAKE_SOURCE_DIR})
endfunction()

function(reshard_program NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE reshard_options ${ARG_DEPENDS})
endfunction()

# reshard_test(NAME SOURCES ... DEPENDS ...): one GoogleTest program, its cases known to ctest.
function(reshard_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${NAME} PRIVATE reshard_options ${ARG_DEPENDS} reshard_source_directory GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${NAME} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
