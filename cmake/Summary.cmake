message(STATUS "reshard ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, C++${CMAKE_CXX_STANDARD}"
               " sanitizers [${RESHARD_SANITIZE}]")
